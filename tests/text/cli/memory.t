# Arguments that no memory holds are refused before any of them is made.
--- copy.tc
def copy(float(N) A) -> (B) { B(i) = A(i) }
$ loopwright run copy.tc --size N=20000000000000 --db none
--- stderr
error: the arguments need 1.6e+05 GB, and this machine has {{.*}} GB of memory
--- exit 1
