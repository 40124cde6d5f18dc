# TC's mapping options as a Schedule of run, compile, show and tune; the result is checked.
--- chain.tc
def chain(float(M,K) A, float(K,N) B) -> (O) {
    C(m,n) +=! A(m,k) * B(k,n)
    O(m,n) = fmax(C(m,n), 0)
}
$ loopwright show chain.tc --size M=40,N=50,K=60 --stage schedule --mapping 'tile(8,16,4).scheduleFusionStrategy(Max)'
C: m/8:p n/16 m n | k/4 k
O: m/8:p n/16 m n:v
$ loopwright run chain.tc --size M=40,N=50,K=60 --mapping 'tile(8,16,4).fuse(max)' --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright compile chain.tc --size M=4,N=5,K=6 --mapping naive --emit c -o chain.c && grep -c 'for (' chain.c
7
$ loopwright run chain.tc --size M=4,N=5,K=6 --mapping naive --schedule naive
--- stderr
loopwright run: --mapping and --schedule both make the loops: give one of them
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ LW_ISL=none loopwright run chain.tc --size M=4,N=5,K=6 --mapping naive
--- stderr
error: no polyhedral analysis: isl is not installed (libisl.so.23, Debian: libisl23; LW_ISL names another file)
--- exit 1
$ loopwright show chain.tc --size M=8,N=8,K=8 --mapping 'tile(4,4).fuse(min)' | head -3
C f32[8, 8] 256 B
for m in 2 parallel
  for n in 2
$ loopwright show chain.tc --size M=8,N=8,K=8 --mapping 'tile(4,4)' --stage program
--- stderr
loopwright show: --mapping has no effect on a Program, which has no loops
usage: loopwright show FILE [options]; --help explains them
--- exit 2
