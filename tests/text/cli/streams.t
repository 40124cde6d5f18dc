# A result goes past the caches where nothing but whole lines of it is stored, and not beside gathers.
--- copy.tc
def f(float(H,W) x, float(W) b) -> (y) { y(i,j) = x(i,j) + b(j) }
--- pick.tc
def f(float(N) x, int(M) t) -> (y) { y(i) = x(t(i)) }
$ loopwright show copy.tc --size H=20000,W=4000 --stage schedule --isa avx512 --threads 1
y: i j:v
    nontemporal
$ loopwright show copy.tc --size H=20000,W=4001 --stage schedule --isa avx512 --threads 1
y: i j:v
$ loopwright show pick.tc --size N=1000,M=90000000 --stage schedule --isa avx512 --threads 1
y: i:v
