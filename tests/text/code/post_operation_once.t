A post-operation runs once in rows where a border leaves out its last products, also with several copies of the loop.
--- p.tc
def f(float(C,H,W) I, float(F,C,R,S) K, float(F) b) -> (O) {
    O(f,h,w) +=! pad(I(c, h + y - 1, w + x - 1)) * K(f,c,y,x) where h in 0:H, w in 0:W
    O(f,h,w) = 2 * O(f,h,w) + b(f) where h in 0:H, w in 0:W
}
--- s.lws
O: h f/4 y c f x w:v
O.1:
    after O
$ for c in 13 14 15 16; do loopwright run p.tc --size C=$c,H=3,F=4,R=3,S=3,W=8 --schedule s.lws --isa avx2 --check | tail -1; done
  check    right: bit for bit, against the interpreter
  check    right: bit for bit, against the interpreter
  check    right: bit for bit, against the interpreter
  check    right: bit for bit, against the interpreter
