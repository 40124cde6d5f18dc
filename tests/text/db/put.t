# A schedule by hand is compared with the reference, timed and kept; from then on it is used, under
# whatever names: here though it is slower than the choice, since it is pinned.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- other.tc
def times(float(X,Z) left, float(Z,Y) right) -> (out) {
    out(i,j) +=! left(i,q) * right(q,j)
}
--- mm.lws
C: m/4 n/16 k m n:v
--- wrong.lws
C: m/4 n/16 x
$ loopwright db put mm.tc --size M=64,N=48,K=32 --schedule mm.lws --threads 1 --pin --db t.db
mm: kept, {{[0-9.]+ us}}, pinned
$ loopwright show mm.tc --size M=64,N=48,K=32 --stage schedule --threads 1 --db t.db
{{# by hand: .* us on 20..-..-.., gap .* %}}
C: m/4 n/16 k m n:v
$ loopwright show other.tc --size X=64,Y=48,Z=32 --stage schedule --threads 1 --db t.db
{{# by hand: .*}}
out: i/4 j/16 q i j:v
$ loopwright db export --db t.db | sed 's/"pinned": true/"pinned": false/; s/"chosen": [^,]*/"chosen": 1/' > faster.jsonl
$ loopwright db import faster.jsonl --db u.db
1 read, 1 kept, 0 refused
$ loopwright show other.tc --size X=60,Y=48,Z=32 --stage schedule --threads 1 --db u.db
{{# tuned for sizes 64,48,32: .*}}
out: i/4 j/16 q i j:v
$ loopwright run mm.tc --size M=64,N=48,K=32 --threads 1 --db t.db | grep -o "schedule.*"
schedule by hand
$ loopwright db list --db t.db | cut -c 1-32
kernel  function  sizes         
     1  mm        M=64,K=32,N=48
$ loopwright db show --db t.db | grep -v us
{{kernel 1: mm, M=64,K=32,N=48, 1 thread, .*}}
  strides  dense
  program
    program mm {
        input A: f32[64, 32]
        input B: f32[32, 48]
        output C: f32[64, 48]
    
        C: for m in 0:64, n in 0:48, k in 0:32
            C[m, n] +=! A[m, k]*B[k, n]
    }
    C: m/4 n/16 k m n:v
$ loopwright run mm.tc --size M=64,N=48,K=32 --threads 1 --db t.db --json | grep -o '"schedule": "[a-z]*"'
"schedule": "hand"
$ loopwright db put mm.tc --size M=64,N=48,K=32 --schedule wrong.lws --db t.db
--- stderr
wrong.lws:1:13: error: no iterator 'x' in statement 'C'
  C: m/4 n/16 x
              ^
note: there are 'm', 'n' and 'k'
--- exit 1
$ loopwright db put mm.tc --size M=64,N=48,K=32 --db t.db
--- stderr
loopwright db: which schedule? give one by --schedule FILE.lws
usage: loopwright db WHAT [FILE...] [options]; --help explains them
--- exit 2
$ loopwright db put mm.tc --size M=64,N=48,K=32 --schedule mm.lws --db none
--- stderr
error: no tuning database is in use
note: name a file with --db FILE or LW_DB
--- exit 1
$ (cat mm.lws; yes '# it goes on and on' | head -4000) > long.lws
$ loopwright db put mm.tc --size M=64,N=48,K=32 --schedule long.lws --db t.db
--- stderr
error: the schedule was not stored: it is declined
--- exit 1
