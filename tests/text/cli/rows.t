# A row that is all there is gets parts that threads share.
--- exp.tc
def f(float(N) x) -> (y) { y(i) = exp(x(i)) }
$ loopwright show exp.tc --size N=1000000 --stage schedule --isa avx512 --threads 2
y: i/63488:p i:v
$ loopwright show exp.tc --size N=1000000 --stage schedule --isa avx512 --threads 1
y: i:v
$ loopwright show exp.tc --size N=1000 --stage schedule --isa avx512 --threads 2
y: i:v
