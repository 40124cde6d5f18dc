# The cases of TC's tests of memory promotion: copies at outer and inner loops, footprints of tiles, strided ones, results of one block, the limit of shared memory, one thread's copy.
--- p.tc
def twice(float(M,N) A) -> (O) { O(i,j) = A(i,j) + A(i,j) }
def apart(float(N) A, float(L) B) -> (O) { O(i) = A(2*i) * A(2*i) + B(5*i) where i in 0:60 }
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
def chain(float(M,K) A, float(K,N) B) -> (O) {
    T(m,n) +=! A(m,k) * B(k,n)
    O(m,n) = T(m,n) * T(m,n)
}
--- footprint
for tile in 32x32 32x64 64x64; do
    echo "O: i/${tile%x*}:grid.y j/${tile#*x}:grid.x i:thread.y j/4:thread.x j
        copy A at j/${tile#*x} place shared" > tile.lws
    loopwright show p.tc --def twice --size M=42,N=256 --schedule tile.lws --stage tree | grep shared
    loopwright run p.tc --def twice --size M=42,N=256 --schedule tile.lws --device emulate --check | grep check
done
--- apart.lws
O: i/16:grid.x i:thread.x
    copy A at i/16 place shared
    copy B at i/16 place shared
--- depths
for at in m/16 n/16 k/8; do
    echo "C: m/16:grid.y n/16:grid.x k/8 m:thread.y k n:thread.x
        copy A at $at place shared" > mm.lws
    loopwright show p.tc --def mm --size M=32,N=32,K=64 --schedule mm.lws --stage tree | grep -o "^ *C.A .*"
    loopwright run p.tc --def mm --size M=32,N=32,K=64 --schedule mm.lws --device emulate --check | grep check
done
--- own.lws
C: m/16:grid.y n/16:grid.x m:thread.y n:thread.x k/8 k
    copy A at k/8 place shared
--- limit
for k in 128 256 512; do
    echo "C: m/128:grid.y n/32:grid.x k/$k m:thread.y n/4:thread.x k n
        copy A at k/$k place shared" > mm.lws
    loopwright show p.tc --def mm --size M=256,N=64,K=512 --schedule mm.lws --stage ptx --target sm_90 2>&1 | grep -c "in global memory: it takes"
done
--- chain.lws
T: m/16:grid.x k/8 m:thread.y k n:thread.x
    at m/16
    place shared
O: m/16:grid.x m:thread.y n:thread.x
$ sh footprint
    O.A f32[32, 32] 4096 B shared
  check    right: bit for bit, against the interpreter
    O.A f32[32, 64] 8192 B shared
  check    right: bit for bit, against the interpreter
    O.A f32[42, 64] 10752 B shared
  check    right: bit for bit, against the interpreter
$ loopwright show p.tc --def apart --size N=120,L=296 --schedule apart.lws --stage tree | grep shared
  O.A f32[16] 64 B shared
  O.B f32[16] 64 B shared
$ loopwright run p.tc --def apart --size N=120,L=296 --schedule apart.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
$ sh depths
  C.A f32[16, 64] 4096 B shared
  check    right: bit for bit, against the interpreter
    C.A f32[16, 64] 4096 B shared
  check    right: bit for bit, against the interpreter
      C.A f32[16, 8] 512 B shared
  check    right: bit for bit, against the interpreter
--- stderr
p.tc:3:45: warning: the loop over 'n' is grid.x, but one block runs all its iterations: other loops or nests are around or beside it
  def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
                                              ^~~~~~~~~~~~~~~~~~~~~~~~~~
$ loopwright show p.tc --def mm --size M=32,N=32,K=64 --schedule own.lws --stage ptx | grep -c "ld.shared\|ld.local"
0
--- exit 1
$ loopwright run p.tc --def mm --size M=32,N=32,K=64 --schedule own.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
$ sh limit
0
0
1
$ loopwright show p.tc --def chain --size M=40,N=24,K=32 --schedule chain.lws --stage ptx | grep -c "entry\|st.global"
3
$ loopwright run p.tc --def chain --size M=40,N=24,K=32 --schedule chain.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
