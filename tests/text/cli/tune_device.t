# Tuning for a device: the emulator is everywhere, a GPU is not. What was tuned is what runs there. A
# wrong result, and a fault that ends a worker, cost their candidate only.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
$ loopwright tune mm.tc --size M=16,K=16,N=16 --device cuda:99
--- stderr
error: device 'cuda:99': {{this machine has no CUDA driver .*|there is no cuda:99.*}}
--- exit 1
$ loopwright tune mm.tc --size M=16,K=16,N=16 --device emulate --cold
--- stderr
loopwright tune: --cold has no effect with --device: it is for the processor
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
$ loopwright tune mm.tc --size M=16,K=16,N=16 --device emulate --trials 24 --seed 1 --quiet --db t.db -o mm.lws | grep -v certificate | sed -n 1,5p
mm, M = 16, K = 16, N = 16
  estimate     {{.*}} from what the emulator counted: no time of any machine
  before       {{.*}} as chosen without search: {{.*}} times as fast now
  trials       24 in {{.*}}
  found by     {{.*}}, kept in the database
$ LW_DB=t.db loopwright run mm.tc --size M=16,K=16,N=16 --device emulate --json | grep -o '"schedule": "[a-z]*"'
"schedule": "tuned"
$ loopwright run mm.tc --size M=16,K=16,N=16 --device emulate --schedule mm.lws --check | grep -c right
1
$ LW_TUNE_PLANT=wrong=5,crash=7 loopwright tune mm.tc --size M=16,K=16,N=16 --device emulate --trials 24 --seed 1 --quiet --db none | grep trials
  trials       24 in {{.*}} wrong{{.*}} crashed{{.*}}
$ loopwright space mm.tc --size M=16,K=16,N=16 --device emulate --set 'kind(C.m.1) = THREAD_X; kind(C.n.0) = GRID_X; size(C.m.1) = 8' | grep 'decided\|follows  kind(C.[mn]'
  follows  kind(C.m.0) = SERIAL|GRID_Y|GRID_Z
  decided  kind(C.m.1) = THREAD_X
  decided  kind(C.n.0) = GRID_X
  follows  kind(C.n.1) = SERIAL|UNROLL|THREAD_Y|THREAD_Z
  decided  size(C.m.1) = 8
$ loopwright space mm.tc --size M=16,K=16,N=16 --device emulate --complete --seed 2 > one.lws && loopwright run mm.tc --size M=16,K=16,N=16 --device emulate --schedule one.lws --check | grep -c right
1
