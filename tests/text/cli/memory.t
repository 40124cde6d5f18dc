# Arguments that no memory holds are refused before any of them is made.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- copy.tc
def copy(float(N) A) -> (B) { B(i) = A(i) }
$ loopwright run copy.tc --size N=20000000000000 --db none
--- stderr
error: the arguments need 160 TB, and this machine has {{.*}} GB of memory
--- exit 1
$ loopwright run copy.tc --size N=20000000000000 --check --db none
--- stderr
error: cannot measure: the arguments with their copies need 4e+05 GB, and this machine has {{.*}} GB of memory
--- exit 1
$ loopwright tune copy.tc --size N=20000000000000 --seconds 1 --db none
--- stderr
error: cannot measure: the arguments with their copies need 4e+05 GB, and this machine has {{.*}} GB of memory
--- exit 1
$ loopwright simulate mm.tc --size M=100000,N=100000,K=100000 --machine accelerator 2>&1 | head -1
error: the loops make at least {{[0-9]+}} tasks, but the simulator keeps at most 4194304; larger tiles make fewer
