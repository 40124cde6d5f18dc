# Errors in other functions do not matter to --def.
--- two.tc
def good(float(N) A) -> (O) { O(i) = A(i) + 1 }
def bad(float(N) A) -> (O) { O(i) = B(i) }
$ loopwright check two.tc --def good --size N=2
good(f32(N) A) -> (f32(N) O)
  with N = 2:
  in    f32(2) A
  out   f32(2) O
--- stderr
note: other functions of 'two.tc' have errors: loopwright check shows them
$ loopwright run two.tc --def good --size N=2 --backend interp | tail -1
           [0.24381256, 1.9253708]
--- stderr
note: other functions of 'two.tc' have errors: loopwright check shows them
$ loopwright check two.tc --def bad
--- stderr
two.tc:2:37: error: no tensor or function named 'B'
  def bad(float(N) A) -> (O) { O(i) = B(i) }
                                      ^~~~
note: declare it as a parameter, or define it by an earlier statement
--- exit 1
