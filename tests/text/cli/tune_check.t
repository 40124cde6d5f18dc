# Candidates are compared on data that leave something to compare: small integers would make all of
# these 0. What no data can show is named. The reproducer of a wrong candidate compares as the tuning did, and shows what differs; only what
# is planted again is wrong again.
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
$ (cd d/loopwright/failures && for f in rbf-wrong-*.lwp; do sed -n 's/^# *\(loopwright run .*\)/\1/p' $f; done | head -1 > %/again)
$ sh again
rbf(f32(12, 64) X, f32(10, 64) Y) -> (f32(12, 10) K)
  sizes    no sizes
  check    right: up to rounding, against the interpreter
$ LW_TUNE_PLANT=wrong=1 sh again
rbf(f32(12, 64) X, f32(10, 64) Y) -> (f32(12, 10) K)
  sizes    no sizes
  check    wrong: K[6, 0] is {{-?}}nan, not 0; 1 of 120 elements differ
--- exit 1
$ LW_TUNE_PLANT=crash=1 loopwright run rbf.tc --size N=3,M=4,D=5 --check --json
{"command": "run", "file": "rbf.tc", "check": "crashed", "diagnostics": [], "ok": false}
--- exit 1
$ loopwright run zero.tc --size N=12,D=64 --check
zero(f32(N, D) X) -> (f32(N) K, f32(N) L)
  sizes    N = 12, D = 64
  check    right: up to rounding, against the interpreter, but not K
$ loopwright run rbf.tc --size N=3,M=0,D=5 --check | tail -1
  check    right
$ loopwright run rbf.tc --size N=3,M=4,D=5 --check --time
--- stderr
loopwright run: --time has no effect with --check: it has data of its own
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run rbf.tc --size N=3,M=4,D=5 --check --backend c
--- stderr
loopwright run: --backend has no effect with --check: it compares compiled code
usage: loopwright run FILE [options]; --help explains them
--- exit 2
