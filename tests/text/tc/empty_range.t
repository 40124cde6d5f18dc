# A range that is empty at these sizes gets a warning, unless a size in it is 0, or other statements define the same tensor.
--- e.tc
def inner(float(N) A) -> (O) { O(i) = A(i) + A(i+1) where i in 2:N-2 }
def front(float(N) A) -> (S) { S +=! A(i) where i in 0:N/2 }
def parts(float(N) A) -> (O) {
    O(i) = A(i) where i in 0:1
    O(i) = A(i) - A(i-1) where i in 1:N
}
def steps(float(N) A) -> (O) {
    O(i) = A(i) where i in 0:1
    for t in 1:N { O(t) = O(t-1) + A(t) }
}
$ loopwright run e.tc --def inner --size N=4 | tail -2
  out      f32(2:2) O: checksum cbf29ce484222325
           []
--- stderr
e.tc:1:59: warning: the range 2:N - 2 of 'i' is empty with N = 4
  def inner(float(N) A) -> (O) { O(i) = A(i) + A(i+1) where i in 2:N-2 }
                                                            ^~~~~~~~~~
$ loopwright run e.tc --def inner --size N=4 --strict
--- stderr
e.tc:1:59: error: the range 2:N - 2 of 'i' is empty with N = 4
  def inner(float(N) A) -> (O) { O(i) = A(i) + A(i+1) where i in 2:N-2 }
                                                            ^~~~~~~~~~
--- exit 1
$ loopwright run e.tc --def front --size N=1 | tail -1
           0
--- stderr
e.tc:2:49: warning: the range 0:N/2 of 'i' is empty with N = 1
  def front(float(N) A) -> (S) { S +=! A(i) where i in 0:N/2 }
                                                  ^~~~~~~~~~
$ loopwright run e.tc --def front --size N=0 | tail -1
           0
$ loopwright run e.tc --def parts --size N=1 | tail -1
           [-0.75618744]
$ loopwright run e.tc --def steps --size N=1 | tail -1
           [-0.75618744]
