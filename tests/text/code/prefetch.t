# What stands still along a loop is fetched a line now and then; a tile once, in front of its loop.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- mm.lws
C: m/2 n/32 k m n:v
    prefetch A at m/2 distance 1 level 2
    prefetch B at k distance 4 level 1
    prefetch C at n/32 distance 0 level 1
$ loopwright show mm.tc --size M=8,N=64,K=64 --schedule mm.lws --isa avx512 --stage asm | grep -o 'prefetchw\|prefetcht1\|L4:\|jl L4' | uniq -c
      4 prefetchw
      1 L4:
      1 prefetcht1
      1 jl L4
