# TC's mapping options for GPUs: Figure 3.e of its paper for sgemm, cyclic threads, several tiles per block, copies by its rule of promotion, and its presets.
--- chain.tc
def chain(float(M,K) A, float(K,N) B, float(N) b) -> (O) {
    C(m,n) +=! A(m,k) * B(k,n)
    O(m,n) = fmax(C(m,n) + b(n), 0)
}
def turn(float(N,M) X) -> (Y) { Y(i,j) = X(j,i) + 1.0 }
--- all
for preset in naive pointwise mlp conv groupconv single-thread; do
    loopwright run "$1" --size B=2,IP=3,OP=4,H=12,W=13,KH=3,KW=3 --device emulate --mapping $preset.gpu --check
done | grep check | uniq -c
$ loopwright show @/examples/tc/sgemm.tc --size N=1000,M=500,K=700 --stage schedule --mapping 'naive.mapToBlocks(32,32).mapToThreads(16,16)'
C: i/32:grid.x j/32:grid.y | i%2:thread.y j%2:thread.x i j
C.1: i/32:grid.x j/32:grid.y k/32 k i%2:thread.y j%2:thread.x i j
$ loopwright show @/examples/tc/sgemm.tc --size N=1000,M=500,K=700 --stage schedule --mapping 'naive.mapToBlocks(8).mapToThreads(32,4).useSharedMemory(true)'
C: i/128:grid.x i/32 j/32 | i%8:thread.y j:thread.x i
C.1: i/128:grid.x i/32 j/32 k/32 k i%8:thread.y j:thread.x i
    copy A at k/32 place shared
    copy B at k/32 place shared
$ loopwright run @/examples/tc/sgemm.tc --size N=100,M=70,K=50 --device emulate --mapping 'naive.mapToBlocks(2,2).mapToThreads(16,16).useSharedMemory(true)' --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright show chain.tc --def chain --size M=100,N=100,K=100 --stage schedule --mapping 'tile(16,16).fuse(max).gpu'
C: m/16:grid.x n/16:grid.y | k m%2:thread.y n:thread.x m
O: m/16:grid.x n/16:grid.y m%2:thread.y n:thread.x m
$ loopwright run chain.tc --def chain --size M=40,N=50,K=60 --device emulate --mapping 'tile(16,16).fuse(max).gpu' --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright show chain.tc --def turn --size N=100,M=80 --stage schedule --mapping 'naive.gpu.useSharedMemory(true)'
Y: i/32:grid.x j/32:grid.y i%4:thread.y j:thread.x i
    copy X at j/32 place shared
$ loopwright run chain.tc --def turn --size N=100,M=80 --device emulate --mapping 'naive.gpu.useSharedMemory(true)' --check | tail -1
  check    right: bit for bit, against the interpreter
$ sh all @/examples/tc/conv2d.tc
      6   check    right: bit for bit, against the interpreter
$ loopwright run chain.tc --def turn --size N=100,M=80 --device emulate --mapping 'naive.mapToThreads(64,32)' --check
--- stderr
--mapping:1:15: error: the mapping option 'mapToThreads' takes up to 3 numbers of threads with a product of at most 1024, not '64,32'
  mapping naive.mapToThreads(64,32)
                ^~~~~~~~~~~~
--- exit 1
