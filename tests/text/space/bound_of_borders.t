A border leaves whole vectors: of 33 columns 31 have products, which take two vectors of 16 lanes, or four of 8.
--- p.tc
def p(float(C,W) I, float(F,C) K) -> (O) { O(f,w) +=! pad(I(c, w - 1)) * K(f,c) where w in 0:33 }
--- s.lws
O: f/10 c f w:v
$ loopwright space p.tc --size C=512,W=31,F=60 --threads 1 --schedule s.lws --explain-bound | grep -m1 lanes | sed 's/.*operations, //'
{{16 of 16|8 of 8}} lanes, 1 core
