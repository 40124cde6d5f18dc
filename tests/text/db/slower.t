# What is slower than the choice is kept and not used, for these sizes or others, unless it is pinned;
# and it keeps nobody from searching.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- slow.lws
C: m n k
$ loopwright db put mm.tc --size M=64,N=48,K=32 --schedule slow.lws --threads 1 --db t.db
mm: kept, {{[0-9.]+ us}}
{{  the schedule chosen without search takes [0-9.]+ us, so that this one is not used; --pin prefers it}}
$ loopwright db put mm.tc --size M=64,N=48,K=32 --schedule slow.lws --threads 1 --db t.db --json | grep -o '"chosen"'
"chosen"
$ for m in 64 60; do loopwright run mm.tc --size M=$m,N=48,K=32 --threads 1 --db t.db | grep -c schedule; done
0
0
--- exit 1
$ loopwright db put mm.tc --size M=64,N=48,K=32 --schedule slow.lws --threads 1 --pin --db t.db
mm: kept, {{[0-9.]+ us}}, pinned
$ loopwright show mm.tc --size M=64,N=48,K=32 --stage schedule --threads 1 --db t.db
{{# by hand: .* us on 20..-..-.., gap .* %}}
C: m n k
$ loopwright run mm.tc --size M=60,N=48,K=32 --threads 1 --db t.db | grep -c schedule
0
--- exit 1
$ loopwright tune mm.tc --size M=64,N=48,K=32 --set 'kind(C.k.0) = SERIAL' --threads 1 --trials 20 --quiet --db t.db | grep 'trials'
{{  trials       20 in .*}}
$ loopwright tune mm.tc --size M=64,N=48,K=32 --threads 1 --trials 20 --quiet --db t.db | grep 'trials'
{{  trials       20 in .*}}
$ loopwright tune mm.tc --size M=64,N=48,K=32 --threads 1 --cold --trials 20 --quiet --db t.db | grep 'trials'
{{  trials       20 in .*}}
