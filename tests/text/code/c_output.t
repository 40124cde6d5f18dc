# C that a person would write: the loops of the Schedule, tails as bounds, tile by tile.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- mm.lws
C: m/16:p k m n:v
$ loopwright compile mm.tc --size M=100,K=64,N=32 --schedule mm.lws --emit c -o mm.c && sed -n '/^static void/,/^}/p' mm.c
static void mm_loops(const float *restrict A, const float *restrict B, float *restrict C, bool init) {
    #pragma omp parallel for
    for (int64_t m = 0; m < 7; m++) {
        if (init) {
            for (int64_t m1 = 0; m1 < lw_min_i64(16, 100 - 16*m); m1++) {
                #pragma omp simd
                for (int64_t n = 0; n < 32; n++) {
                    C[512*m + 32*m1 + n] = 0.0f;
                }
            }
        }
        for (int64_t k = 0; k < 64; k++) {
            for (int64_t m1 = 0; m1 < lw_min_i64(16, 100 - 16*m); m1++) {
                #pragma omp simd
                for (int64_t n = 0; n < 32; n++) {
                    C[512*m + 32*m1 + n] = fmaf(A[1024*m + k + 64*m1], B[32*k + n], C[512*m + 32*m1 + n]);
                }
            }
        }
    }
}
$ printf 'C: m n k:v\n' > dot.lws && loopwright compile mm.tc --size M=4,K=64,N=4 --schedule dot.lws --emit c -o mm.c && sed -n '/^static void/,/^}/p' mm.c
static void mm_loops(const float *restrict A, const float *restrict B, float *restrict C, bool init) {
    for (int64_t m = 0; m < 4; m++) {
        for (int64_t n = 0; n < 4; n++) {
            if (init) C[4*m + n] = 0.0f;
            {
                float sum = C[4*m + n];
                #pragma omp simd reduction(+ : sum)
                for (int64_t k = 0; k < 64; k++) {
                    sum = fmaf(A[64*m + k], B[n + 4*k], sum);
                }
                C[4*m + n] = sum;
            }
        }
    }
}
