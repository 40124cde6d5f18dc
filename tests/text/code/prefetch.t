# What stands still along a loop is fetched a line now and then, rows with gaps between them by the
# loops around; a tile once, in front of its loop, or some rows with each part of its sums.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- mm.lws
C: m/2 n/32 k m n:v
    prefetch A at m/2 distance 1 level 2
    prefetch B at k distance 4 level 1
    prefetch C at n/32 distance 0 level 1
--- rows.lws
C: n/64 m/6 k/16 k m n:v
    prefetch B at n/64 distance 1 level 1
    prefetch C at m/6 distance 0 level 1
$ loopwright show mm.tc --size M=8,N=64,K=64 --schedule mm.lws --isa avx512 --stage asm | grep -o 'prefetchw\|prefetcht1\|L4:\|jl L4' | uniq -c
      4 prefetchw
      1 L4:
      1 prefetcht1
      1 jl L4
$ loopwright show mm.tc --size M=24,N=128,K=64 --schedule rows.lws --isa avx512 --stage asm | grep -o 'prefetch.*\|L4:\|jl L4' | uniq -c
      1 L4:
      1 prefetchw byte ptr [r8]
      1 prefetchw byte ptr [r8+0x200]
      1 prefetcht0 byte ptr [r9+0x100]
      1 prefetcht0 byte ptr [r9+0x300]
      1 prefetcht0 byte ptr [r9+0x500]
      1 prefetcht0 byte ptr [r9+0x700]
      1 jl L4
