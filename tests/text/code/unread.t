# Results that are initialised are not loaded first, though nothing is left of the loop around two tiles: the flag of
# KernelEnv is tested in front of the loads.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- two.lws
C: m/4 k m n:v
$ loopwright show mm.tc --size M=8,N=8,K=3 --schedule two.lws --isa avx2 --stage asm | grep -o 'test\|vmovups\|vxorps' | uniq -c | head -5
      1 test
      8 vmovups
      1 test
      4 vxorps
      3 vmovups
