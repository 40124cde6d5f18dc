# Where no result has an element there is nothing to tune, and nothing is kept.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
$ XDG_CACHE_HOME=%/c loopwright tune mm.tc --size M=8,K=8,N=0 --quiet --db t.db
mm, M = 8, K = 8, N = 0
  nothing to tune: its results have no elements
$ loopwright db list --db t.db
--- stderr
error: there is no database 't.db'
--- exit 1
$ XDG_CACHE_HOME=%/c loopwright tune mm.tc --size M=8,K=8,N=0 --quiet --db t.db --json | python3 -c "import json, sys; t = json.load(sys.stdin)['tunings'][0]; print(t['found_by'], t['stored'], t['trials'])"
empty False 0
$ XDG_CACHE_HOME=%/c loopwright tune mm.tc --size M=8,K=0,N=8 --trials 3 --quiet --db none | grep -c certificate
1
