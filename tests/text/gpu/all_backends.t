# One program, unchanged, on every back-end: bit for bit on exact data (floats that are small integers).
--- net.tc
def net(int8(B,N) X, int8(O,N) W, int8(O) bias, int(B) pick, int8(E,O) T) -> (F, Y, S, M) {
    F(o,n) = float(W(o,n))
    Y(b,o) +=! float(X(b,n)) * F(o,n)
    Y(b,o) = max(Y(b,o) + bias(o), 0.0) + T(pick(b),o)
    S(b) +=! Y(b,o)
    M(o) max=! Y(b,o)
}
def window(int32(H,W) I, int8(KH,KW) K) -> (O, U) {
    O(h,w) +=! I(h+kh,w+kw) * K(kh,kw)
    U(w,h) = O(h,w) % 7 == 0 ? O(h,w) / 3 : -O(h,w) where h in 0:7, w in 0:9
}
def halves(int8(M,K) A, int8(K,N) B, int8(N) s) -> (H, C, D) {
    H(m,k) = half(A(m,k))
    C(m,n) +=! float(H(m,k)) * half(B(k,n))
    D(m,n) = double(C(m,n)) * s(n)
}
--- all
for way in "--backend interp" "--backend tree" "--backend c" "--backend jit" "--device emulate" "--device emulate --schedule naive"; do
    loopwright run net.tc --def "$@" --seed 3 --db none $way | sed -n 's/.* out .*checksum //p' | tr '\n' ' '
    echo
done | uniq -c
$ sh all net --size B=33,N=20,O=17,E=5
      6 9956620fc11d0438 7ab6facc842b0d36 3c6b8a3eb329679b 6a38cdda437d173d 
$ sh all window --size H=9,W=13,KH=3,KW=5
      6 0958606bc79b3f43 458eae0e96222000 
$ sh all halves --size M=40,N=24,K=33
      6 a2fbb64fe52519c3 4cdcb91479a54686 c5e8608a16093f81 
