# A range that ends before a tensor does leaves out elements: a warning, an error under --strict. Stencils and windows alone do not warn.
--- n.tc
def shift(float(N) X, float(N) Y) -> (O) { O(i) = X(i) + Y(i+1) }
def first(float(N) X, float(10) Y) -> (O) { O(i) = X(i) + Y(i) }
def cut(float(N) X) -> (float(4) O) { O(i) = X(i) }
def late(float(N) X) -> (float(N) O) { O(i+1) = X(i) }
def taps(float(H) I, float(K) W) -> (O) { O(h) +=! I(h+k) * W(k) where h in 0:H }
--- quiet.tc
def valid(float(H) I, float(K) W) -> (O) { O(h) +=! I(h+k) * W(k) }
def jacobi(float(N) A, float(N) F) -> (O) { O(i) = A(i-1) + A(i+1) + F(i) }
def steps(float(N) X) -> (O) { G(i) = X(i+1) - X(i)  O(i) = X(i) + G(i) }
def above(float(N,N) A) -> (O) { O(i) = A(i,i+1) }
def lags(float(N) X) -> (O) { O(k) +=! X(i) * X(i+k) where k in 0:3 }
$ loopwright check quiet.tc --strict
valid(f32(H) I, f32(K) W) -> (f32(H - K + 1) O)
jacobi(f32(N) A, f32(N) F) -> (f32(1:N - 1) O)
steps(f32(N) X) -> (f32(N - 1) O)
above(f32(N, N) A) -> (f32(N - 1) O)
lags(f32(N) X) -> (f32(3) O)
$ loopwright check n.tc --def shift
shift(f32(N) X, f32(N) Y) -> (f32(N - 1) O)
--- stderr
n.tc:1:60: warning: subscript 'i+1' of 'Y' keeps 'i' from reaching all of 'X': it leaves out 1 element
  def shift(float(N) X, float(N) Y) -> (O) { O(i) = X(i) + Y(i+1) }
                                                             ^~~
note: choose sizes that agree, or say with a 'where' what the range is
n.tc:4:40: warning: subscript 'i + 1' of 'O' keeps 'i' from reaching all of 'X': it leaves out 1 element
  def late(float(N) X) -> (float(N) O) { O(i+1) = X(i) }
                                         ^~~~~~~~~~~~~
note: choose sizes that agree, or say with a 'where' what the range is
$ loopwright check n.tc --def shift --strict | tail -1
--- stderr
n.tc:1:60: error: subscript 'i+1' of 'Y' keeps 'i' from reaching all of 'X': it leaves out 1 element
  def shift(float(N) X, float(N) Y) -> (O) { O(i) = X(i) + Y(i+1) }
                                                             ^~~
note: choose sizes that agree, or say with a 'where' what the range is
n.tc:4:40: error: subscript 'i + 1' of 'O' keeps 'i' from reaching all of 'X': it leaves out 1 element
  def late(float(N) X) -> (float(N) O) { O(i+1) = X(i) }
                                         ^~~~~~~~~~~~~
note: choose sizes that agree, or say with a 'where' what the range is
$ loopwright check n.tc --def first --size N=12 2>&1 | grep 12:
n.tc:2:61: warning: subscript 'i' of 'Y' keeps 'i' from reaching all of 'X' with N = 12: it leaves out 2 elements
  with N = 12:
$ loopwright run n.tc --def first --size N=12 --strict 2>&1 | grep 12:
n.tc:2:61: error: subscript 'i' of 'Y' keeps 'i' from reaching all of 'X' with N = 12: it leaves out 2 elements
$ loopwright check n.tc --def cut --size N=7 2>&1 | grep ' 7:'
n.tc:3:48: warning: the declared size of 'O' keeps 'i' from reaching all of 'X' with N = 7: it leaves out 3 elements
  with N = 7:
$ loopwright check n.tc --def taps --size H=9,K=3 2>&1 | grep ' 3:'
n.tc:5:54: warning: subscript 'h+k' of 'I' keeps 'k' from reaching all of 'W' with K = 3: it leaves out 2 elements
  with H = 9, K = 3:
