# Statements that would share few loops are kernels of their own, and threads divide sums over several dimensions.
--- s.tc
def separable(float(N,C,H,W) X, float(C,3,3) D, float(F,C) P) -> (O) {
    T(n,c,h,w) +=! X(n,c,h+kh,w+kw) * D(c,kh,kw)
    O(n,f,h,w) +=! T(n,c,h,w) * P(f,c)
}
def norm(float(N,C,H,W) X) -> (Y) {
    m(c) +=! X(n,c,i,j)
    v(c) +=! (X(n,c,i,j) - m(c)/(N*H*W)) * (X(n,c,i,j) - m(c)/(N*H*W))
    Y(n,c,i,j) = (X(n,c,i,j) - m(c)/(N*H*W)) * rsqrt(v(c)/(N*H*W) + 1e-5)
}
def across(float(B,N,D) Q, float(B,N,D) K, float(B,N,E) V) -> (O) {
    S(b,i,j) +=! Q(b,i,d) * K(b,j,d)
    T(b,i) max=! S(b,i,j)
    S(b,i,j) = min(S(b,i,j) - T(b,j) + 9.0, 3.0)
    Z(b,i) +=! S(b,i,j)
    O(b,i,e) +=! S(b,i,j) * V(b,j,e)
    O(b,i,e) = O(b,i,e) - Z(b,i)
}
$ loopwright compile s.tc --def separable --size N=8,C=64,H=56,W=56,F=128 --emit ptx -o s.ptx --db none; grep -o '{"sep.*}' s.h
{"separable_0", {972, 1, 1}, {256, 1, 1}, 0}
{"separable_1", {486, 1, 1}, {256, 1, 1}, 0}
$ loopwright compile s.tc --def norm --size N=8,C=64,H=56,W=56 --emit ptx -o n.ptx --db none; grep -o '{"norm.*}' n.h
{"norm_0", {64, 1, 1}, {196, 2, 1}, 3136}
{"norm_1", {1568, 1, 1}, {256, 1, 1}, 0}
$ loopwright run s.tc --def separable --size N=2,C=16,H=9,W=9,F=32 --device emulate --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright run s.tc --def norm --size N=3,C=5,H=17,W=15 --device emulate --check | tail -1
  check    right: up to rounding, against the interpreter
$ loopwright compile s.tc --def across --size B=5,N=1056,D=16,E=17 --emit ptx -o a.ptx --db none; grep -o '{"across.*}' a.h
{"across_0", {9, 17, 5}, {16, 8, 1}, 15328}
{"across_1", {1056, 5, 1}, {128, 1, 1}, 16}
{"across_2", {5445, 1, 1}, {256, 1, 1}, 0}
{"across_3", {1056, 5, 1}, {128, 1, 1}, 16}
{"across_4", {351, 1, 1}, {256, 1, 1}, 0}
$ loopwright run s.tc --def across --size B=2,N=70,D=16,E=17 --device emulate --check | tail -1
  check    right: bit for bit, against the interpreter
