An update in place covers all definitions before it, also the first step of a scan at a constant.
--- s.tc
def scan(float(N) X) -> (T) {
    T(0) = X(0)
    for t in 1:N { T(t) = T(t - 1) + X(t) }
    T(i) = T(i) * 2
}
def parts(float(N) X) -> (T) {
    T(N - 1) = X(0)
    T(i) = X(i) where i in 0:N - 1
    T(i) = max(T(i), 0)
}
$ loopwright show s.tc --def scan --size N=4 --stage program | grep T.2:
    T.2: for i in 0:4
$ loopwright show s.tc --def parts --size N=4 --stage program | grep T.2:
    T.2: for i in 0:4
