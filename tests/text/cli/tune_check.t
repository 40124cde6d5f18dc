# Candidates are compared on data that leave something to compare: small integers would make all of
# these 0. What no data can show is named.
--- rbf.tc
def rbf(float(N,D) X, float(M,D) Y) -> (K) {
    S(i,j) +=! (X(i,d) - Y(j,d)) * (X(i,d) - Y(j,d))
    K(i,j) = exp(-S(i,j))
}
--- zero.tc
def zero(float(N,D) X) -> (K, L) {
    L(i) +=! X(i,d)
    K(i) = exp(-100000 * (L(i) * L(i) + 1))
}
$ XDG_CACHE_HOME=%/c XDG_DATA_HOME=%/d LW_TUNE_PLANT=wrong=2 loopwright tune rbf.tc --size N=12,M=10,D=64 --threads 1 --trials 20 --seconds 9 --db none --quiet > out
$ sed -n '/trials/p;/unchecked/p' out
  trials       20 in {{.*}}, {{9|10}} wrong
$ XDG_CACHE_HOME=%/c loopwright tune zero.tc --size N=12,D=64 --threads 1 --trials 2 --seconds 9 --db none --quiet > out
$ sed -n '/unchecked/p' out
  unchecked    K: all alike, infinite or no numbers on the data to compare on
