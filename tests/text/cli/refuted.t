# A time below the bound withdraws the certificate: of tune, of what tune left in the database, of explain.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
$ XDG_DATA_HOME=%/data LW_TUNE_PLANT=bound=1000 loopwright tune mm.tc --size M=16,N=16,K=16 --trials 5 --threads 1 --db none 2>/dev/null | grep -E 'certificate'
  certificate  none: measured {{[0-9.e-]+}} us, below the bound of {{[0-9.e+]+}} us; please report %/data/loopwright/failures/mm-below-bound-{{[0-9a-f]+}}.lws
$ ls data/loopwright/failures | sed 's/-[0-9a-f]*\././' | sort -u
mm-below-bound.lwp
mm-below-bound.lws
$ loopwright tune mm.tc --size M=16,N=16,K=16 --trials 5 --threads 1 --db t.db > /dev/null 2>&1
$ loopwright run mm.tc --size M=16,N=16,K=16 --threads 1 --time --db t.db 2>/dev/null | grep '^  bound'
  bound    no implementation can beat {{.*}}; gap {{[0-9]+}} %
$ loopwright db export --db t.db | sed 's/"bound": [^,]*/"bound": 1.5/' > high.jsonl; loopwright db import high.jsonl --db high.db > /dev/null
$ loopwright run mm.tc --size M=16,N=16,K=16 --threads 1 --time --db high.db 2>/dev/null | grep '^  bound'
  bound    no certificate: measured {{.*}}, below the bound of 1.500 s; please report this program with its sizes
$ loopwright run mm.tc --size M=16,N=16,K=16 --threads 1 --time --db high.db --json 2>/dev/null | grep -o '"refuted": true'
"refuted": true
$ LW_TUNE_PLANT=bound=1000 loopwright explain mm.tc --size M=16,N=16,K=16 --db none -o mm.html 2>/dev/null
mm.html
no certificate: measured below the bound; please report the page
