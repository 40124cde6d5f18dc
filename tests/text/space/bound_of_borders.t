A border leaves whole vectors: 17 columns, of which 15 have products, take one vector of 16 lanes.
--- p.tc
def p(float(C,W) I, float(F,C) K) -> (O) { O(f,w) +=! pad(I(c, w - 1)) * K(f,c) where w in 0:17 }
--- s.lws
O: f/10 c f w:v
$ loopwright space p.tc --size C=512,W=15,F=60 --threads 1 --schedule s.lws --isa avx512 --explain-bound | grep -m1 lanes | sed 's/.*operations, //'
16 of 16 lanes, 1 core
