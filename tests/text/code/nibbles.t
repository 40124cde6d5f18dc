# Two weights in a byte: how far to shift is known in either copy of the loop, so that nothing is
# divided and no lane has 8 bytes.
--- w4.tc
def w4(float(M,K) X, uint8(N,L) W) -> (O) {
    O(m,n) +=! X(m,k) * float((W(n,k/2) >> uint8(4*(k%2))) & 15)
}
--- w4.lws
O: n/32 m/12 k/2 k m n:v
    copy W at n/32 layout (n/32 d1 n)
$ loopwright show w4.tc --size M=24,K=64,N=64,L=32 --schedule w4.lws --stage asm --isa avx2 | grep -c 'vpmul\|vpmovqd\|idiv'
0
--- exit 1
