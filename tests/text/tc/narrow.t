# Bytes of two kinds meet as 16-bit integers, which are no more than a step to the sum's 32 bits.
--- p.tc
def mm(uint8(M,K) A, int8(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
$ loopwright show p.tc --stage program --size M=2,N=3,K=4 | grep '+=!'
        C[m, n] +=! i32(A[m, k])*i32(B[k, n])
