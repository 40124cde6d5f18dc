# LW_MACHINE: a described machine is chosen, bounded and compiled for; its code runs as far as this one goes.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
$ for m in zen4 haswell unknown; do LW_MACHINE=$m loopwright run mm.tc --size M=33,N=20,K=7 --db none --threads 1 | grep checksum; done | uniq | wc -l
1
$ LW_MACHINE=zen4 loopwright space mm.tc --size M=64,N=64,K=64 --threads 1 --explain-bound | grep '^bound'
bound            3.21 us, by compute
$ LW_MACHINE=zen4 loopwright tune mm.tc --size M=16,N=16,K=16 --trials 5 --threads 1 --db none 2> /dev/null | grep -c certificate
0
--- exit 1
$ LW_MACHINE=zen4 loopwright machine | head -1
described zen4
$ LW_MACHINE=z80 loopwright run mm.tc --size M=2,N=2,K=2
--- stderr
error: no machine of that name is described; there are haswell, skylake, skylake-server, icelake, alderlake, sapphirerapids, zen2, zen3, zen4, zen5, unknown
--- exit 1
