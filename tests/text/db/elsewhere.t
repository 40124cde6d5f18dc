# What is tuned for other threads or another instruction set is not used, but said to be there.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- mm.lws
C: m/4 n/16 k m n:v
$ loopwright db put mm.tc --size M=600,N=480,K=320 --schedule mm.lws --threads 1 --isa avx2 --pin --db t.db
mm: kept, {{[0-9.]+ [mu]s}}, pinned
$ loopwright run mm.tc --size M=600,N=480,K=320 --threads 1 --isa avx2 --db t.db | grep -o 'schedule.*\|  tuned.*'
schedule by hand
$ loopwright run mm.tc --size M=600,N=480,K=320 --threads 2 --isa avx2 --db t.db | grep -o 'schedule.*\|  tuned.*'
  tuned    for 1 thread of avx2, not for 2 of avx2: `loopwright tune` with the same --threads and --isa does it
$ loopwright run mm.tc --size M=600,N=480,K=320 --threads 1 --isa scalar --db t.db | grep -o 'schedule.*\|  tuned.*'
  tuned    for 1 thread of avx2, not for 1 of scalar: `loopwright tune` with the same --threads and --isa does it
$ loopwright run mm.tc --size M=600,N=480,K=320 --threads 2 --isa avx2 --db t.db --json | grep -o '"tuned_for": {[^}]*}'
"tuned_for": {"threads": 1, "isa": "avx2"}
$ loopwright run mm.tc --size M=600,N=481,K=3 --threads 2 --isa avx2 --db t.db | grep -o 'schedule.*\|  tuned.*'
--- exit 1
$ loopwright run mm.tc --size M=600,N=480,K=320 --threads 2 --isa avx2 --db t.db --schedule naive | grep -o 'schedule.*\|  tuned.*'
--- exit 1
$ loopwright show mm.tc --size M=600,N=480,K=320 --threads 2 --isa avx2 --db t.db --stage schedule | head -1
# chosen: tuned for 1 thread of avx2, not for 2 of avx2
$ loopwright show mm.tc --size M=600,N=480,K=320 --threads 2 --isa avx2 --db none --stage schedule | grep '#'
--- exit 1
