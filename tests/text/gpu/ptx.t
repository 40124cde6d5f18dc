# Kernels as PTX: the chosen Schedule as a comment, then the text; a file with a header that launches it.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) {
    C(m) +=! A(m,k) * x(k)
}
--- bmm.tc
def bmm(float(B,M,K) X, float(B,K,N) Y) -> (Z) { Z(b,m,n) +=! X(b,m,k) * Y(b,k,n) }
--- big.lws
C: m/4:grid.x m:thread.x k
--- wide.lws
C: k m:thread.x
--- lanes.lws
C: m/8:lane k m
--- digits.lws
C: m/64:lane m/32:lane m/16:lane m/8:lane m/4:lane m/2:lane m:lane k
--- long.lws
C: m:grid.x k:u
    unroll 100000
--- bits.lws
C: m/8:grid.x k/2:warp m/4:lane k:lane m/2:lane m
$ loopwright show mv.tc --size M=8,K=4 --stage ptx --schedule big.lws | grep -c 'fma.rn.f32'
4
$ loopwright show mv.tc --size M=300,K=4096 --stage ptx | grep '^//'
// C: m:grid.x k/1024 k/4:thread.x k
$ loopwright show bmm.tc --size B=500,M=26,K=72,N=26 --stage ptx | grep '^// Z'
// Z: b:grid.x n%2:thread.y m%4:thread.x k m n
$ loopwright show mv.tc --size M=8,K=4 --stage ptx --target sm_90 | sed -n 2,3p
.version 7.8
.target sm_90
$ loopwright show mv.tc --size M=8,K=4 --stage ptx --target sm_10
--- stderr
error: 'sm_10' is not a GPU target; use sm_80, sm_90 or a later one
--- exit 1
$ loopwright show mv.tc --size M=2048,K=4 --stage ptx --schedule wide.lws
--- stderr
mv.tc:2:5: error: a block of this kernel has 2048 threads; a GPU allows 1024
      C(m) +=! A(m,k) * x(k)
      ^~~~~~~~~~~~~~~~~~~~~~
--- exit 1
$ loopwright show mv.tc --size M=512,K=4 --stage ptx --schedule lanes.lws
--- stderr
mv.tc:2:5: error: the loops marked 'lane' have 64 iterations together; a warp has 32 lanes
      C(m) +=! A(m,k) * x(k)
      ^~~~~~~~~~~~~~~~~~~~~~
--- exit 1
$ loopwright show mv.tc --size M=128,K=4 --stage ptx --schedule digits.lws
--- stderr
mv.tc:2:5: error: more than 6 nested loops are marked 'lane'
      C(m) +=! A(m,k) * x(k)
      ^~~~~~~~~~~~~~~~~~~~~~
--- exit 1
$ loopwright show mv.tc --size M=2,K=70000 --stage ptx --schedule long.lws
--- stderr
mv.tc:2:5: error: the code of one thread of kernel 'mv_0' computes 350014 values in sequence; the limit is 65536
      C(m) +=! A(m,k) * x(k)
      ^~~~~~~~~~~~~~~~~~~~~~
note: unroll less, or divide more loops among threads
--- exit 1
$ loopwright show mv.tc --size M=16,K=8 --stage ptx --schedule bits.lws | grep -e maxntid -e shfl -e tid -e 'shr.u32'
.maxntid 32, 1, 1
	mov.u32 %r1, %tid.x;
	shr.u32 %r3, %r1, 1;
	shr.u32 %r5, %r3, 1;
	shr.u32 %r7, %r5, 1;
	shfl.sync.bfly.b32 %r20, %r8, 2, 31, 0xffffffff;
	shfl.sync.bfly.b32 %r22, %r9, 2, 31, 0xffffffff;
	shfl.sync.bfly.b32 %r24, %r21, 16, 31, 0xffffffff;
	shfl.sync.bfly.b32 %r26, %r25, 8, 31, 0xffffffff;
	shfl.sync.bfly.b32 %r28, %r23, 16, 31, 0xffffffff;
	shfl.sync.bfly.b32 %r30, %r29, 8, 31, 0xffffffff;
$ loopwright run mv.tc --size M=16,K=8 --seed 1 --device emulate --schedule bits.lws | tail -1
           [-0.010161683, 0.20293105, -0.50821793, -1.0742776, -0.8394504, -0.85606587, ...]
$ loopwright compile mv.tc --size M=8,K=4 --emit ptx -o mv.ptx
$ loopwright compile mv.tc --size M=16,K=4 --emit ptx -o mv.ptx
$ grep launch mv.h
static inline CUresult mv_launch(CUmodule module, CUstream stream, CUdeviceptr arg0, CUdeviceptr arg1, CUdeviceptr arg2,
    } launch[] = {
        const unsigned *g = launch[i].grid, *b = launch[i].block;
        CUresult r = cuModuleGetFunction(&f, module, launch[i].kernel);
        if (!r && launch[i].shared > 48 * 1024)
                                   (int)launch[i].shared);
            r = cuLaunchKernel(f, g[0], g[1], g[2], b[0], b[1], b[2], launch[i].shared,
