# A size and a tensor of one name: --size gives the one, --in the other.
--- w.tc
def f(float(W) A, float(2) W) -> (O) { O(i) = A(i) * W(1) where i in 0:W }
$ loopwright run @/examples/tc/mv.tc --size M=2,K=1 --out C=w.npy > /dev/null; loopwright run w.tc --in W=w.npy --size W=3 | grep ' W'
f(f32(W) A, f32(2) W) -> (f32(W) O)
  sizes    W = 3
  in       f32(2) W: from w.npy
