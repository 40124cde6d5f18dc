# Tuning the parameters of a description: the result is a description, known to the database under the given text.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- slow.lwm
machine slow "vectors of one register"
include avx2
set order vector=8 registers=1
$ loopwright tune mm.tc --size M=40,N=48,K=30 --machine slow.lwm --trials 12 --threads 1 --quiet --db t.db -o tuned.lwm | grep 'found by'
  found by     machine, kept in the database
$ loopwright tune mm.tc --size M=40,N=48,K=30 --machine slow.lwm --trials 12 --threads 1 --quiet --db t.db | grep 'found by\|trials'
  trials       none: the database knew it; --again searches
  found by     database, kept in the database
$ loopwright tune mm.tc --size M=40,N=48,K=30 --machine avx2 --trials 2 --threads 1 --quiet --db t.db | grep 'found by'
  found by     machine, kept in the database
$ loopwright run mm.tc --size M=40,N=48,K=30 --machine tuned.lwm --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright run mm.tc --size M=40,N=48,K=30 --machine slow.lwm --threads 1 --db t.db | sed -n 's/.*, description/description/p'
description tuned
$ loopwright run mm.tc --size M=40,N=48,K=31 --machine slow.lwm --threads 1 --db t.db | grep -c tuned
0
--- exit 1
$ loopwright run mm.tc --size M=40,N=48,K=30 --machine slow.lwm --threads 1 --db t.db --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright db verify --db t.db
2 apply, 0 do not
$ loopwright db prune --bad --db t.db
0 removed
$ loopwright db list --db t.db | wc -l
3
$ loopwright tune mm.tc --size M=4,N=4,K=3 --machine avx2 --strategy beam
--- stderr
loopwright tune: --strategy is for Schedules; --machine tunes the parameters of passes
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
