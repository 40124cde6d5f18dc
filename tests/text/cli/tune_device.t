# Tuning for a device: the emulator is everywhere, a GPU is not. What was tuned is what runs there. A
# wrong result, and a fault that ends a worker, cost their candidate only. What cannot be compiled is
# refused with its reason, also by --check and after a search.
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
$ loopwright tune mm.tc --size M=16,K=16,N=16 --device emulate --trials 24 --seed 1 --quiet --db t.db -o mm.lws | sed -n 1,5p
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
--- gamma.tc
def gamma(double(N) X) -> (Y) { Y(i) = tgamma(X(i)) }
$ loopwright run gamma.tc --size N=8 --device emulate --check | tail -1
  check    right: up to rounding, against the interpreter
$ loopwright tune gamma.tc --size N=8 --device emulate --trials 4 --quiet --db none 2>&1 | sed -n '1p'
gamma, N = 8
--- lanes.lws
C: m:grid.x n k:lane
$ loopwright run mm.tc --size M=16,K=64,N=16 --device emulate --schedule lanes.lws --check
--- stderr
mm.tc:1:45: error: the loops marked 'lane' have 64 iterations together; a warp has 32 lanes
  def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
                                              ^~~~~~~~~~~~~~~~~~~~~~~~~~
--- exit 1
# Two tiles larger than the range are the same loop when lowered: a bar keeps the kernels apart.
--- two.tc
def two(float(N) X) -> (T, S) { T(i) = X(i) + 1 S(i) = X(i) * 2 }
$ loopwright space two.tc --size N=100 --device emulate --complete --set 'order(T.i.0, S.i.0) = BEFORE; kind(T.i.0) = GRID_X; size(T.i.1) = 128; size(T.i.2) = 1; kind(T.i.1) = THREAD_X; kind(S.i.0) = GRID_X; size(S.i.1) = 32; kind(S.i.1) = THREAD_Y; size(S.i.2) = 5; kind(S.i.2) = THREAD_Z; split(T.i.0) = BLOCK; split(S.i.0) = BLOCK' > two.lws && grep grid two.lws | sed 's/ i[^ ]*:thread.*//' && loopwright run two.tc --size N=100 --device emulate --schedule two.lws --check | grep -c right
T: | i/128:grid.x
S: i/160:grid.x
1
