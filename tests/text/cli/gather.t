# Random subscripts stay inside what they index; given ones are checked.
--- gather.tc
def gather(float(N) A, int32(K) I) -> (O) {
    O(k) = A(I(k))
}
$ loopwright run gather.tc --size N=3,K=1000 --seed 5 | sed -n 2p
  sizes    N = 3, K = 1000
$ loopwright run gather.tc --size N=1,K=4 --seed 5 | sed -n 2p
  sizes    N = 1, K = 4
$ @/tests/npy write i.npy '<i4' 3 0 2 3 && loopwright run gather.tc --size N=3 --in I=i.npy
--- stderr
gather.tc:2:5: error: statement 'O': subscript 1 of 'A' is I[k] = 3 at k = 2, outside [0, 3)
      O(k) = A(I(k))
      ^~~~~~~~~~~~~~
note: I[2] is 3
--- exit 1
$ loopwright run gather.tc --size N=3 --in I=i.npy --backend tree
--- stderr
gather.tc:2:5: error: statement 'O': subscript 1 of 'A' is I[k] = 3 at k = 2, outside [0, 3)
      O(k) = A(I(k))
      ^~~~~~~~~~~~~~
note: I[2] is 3
--- exit 1
