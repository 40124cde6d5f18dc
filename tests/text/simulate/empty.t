# A program without iterations moves nothing, and nothing has to be moved.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
$ loopwright simulate mm.tc --size M=0,N=16,K=16 --machine accelerator | grep 'cycles\|moved'
  cycles   0
  moved    0 bytes; at least 0
