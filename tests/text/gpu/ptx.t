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
$ loopwright show mv.tc --size M=8,K=4 --stage ptx --schedule big.lws | grep -c 'fma.rn.f32'
4
$ loopwright show mv.tc --size M=300,K=4096 --stage ptx | grep '^//'
// C: m:grid.x k/1024 k/4:thread.x k
$ loopwright show bmm.tc --size B=500,M=26,K=72,N=26 --stage ptx | grep '^// Z'
// Z: b m/2 n k m
$ loopwright show mv.tc --size M=8,K=4 --stage ptx --target sm_90 | sed -n 2,3p
.version 7.8
.target sm_90
$ loopwright show mv.tc --size M=8,K=4 --stage ptx --target sm_10
--- stderr
error: 'sm_10' is no GPU target: sm_80, sm_90 or a later one
--- exit 1
$ loopwright show mv.tc --size M=2048,K=4 --stage ptx --schedule wide.lws
--- stderr
error: a block of this kernel has 2048 threads; a GPU allows 1024
--- exit 1
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
