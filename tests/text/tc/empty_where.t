# A range that is empty at these sizes reads nothing, so conditions on its subscripts do not count.
--- e.tc
def f(float(N) A, int s) -> (O) { O(i) = A(s*i) where i in 0:N/s }
$ loopwright run e.tc --size N=8,s=100 | tail -2
  out      f32(0) O: checksum cbf29ce484222325
           []
--- stderr
e.tc:1:55: warning: the range 0:N/s of 'i' is empty with s = 100, N = 8
  def f(float(N) A, int s) -> (O) { O(i) = A(s*i) where i in 0:N/s }
                                                        ^~~~~~~~~~
$ loopwright run e.tc --size N=8,s=0 | tail -2
  out      f32(0) O: checksum cbf29ce484222325
           []
$ loopwright run e.tc --size N=8,s=-1 | tail -2
--- stderr
e.tc:1:35: error: dimension 1 of 'O' has size N/s = -8 with s = -1, N = 8
  def f(float(N) A, int s) -> (O) { O(i) = A(s*i) where i in 0:N/s }
                                    ^
