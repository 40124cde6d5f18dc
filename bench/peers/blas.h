// Peers that offer cblas_sgemm. OpenBLAS and BLIS export the same symbols, so each is loaded by its
// own path, in a process of its own.
//
//     gemm M N K     C = A B, row-major
#include "peer.h"

#include <dlfcn.h>

typedef void Sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                   int lda, const float *b, int ldb, float beta, float *c, int ldc);

static struct {
    Sgemm *sgemm;
    int m, n, k;
    float *a, *b, *c;
} blas;

static void *blas_load(const char *const *paths) {
    for (; *paths; paths++) {
        void *lib = dlopen(*paths, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
        if (lib) blas.sgemm = (Sgemm *)dlsym(lib, "cblas_sgemm");
        if (lib && blas.sgemm) return lib;
    }
    return NULL;
}

static bool blas_prepare(const PeerTask *t, const char **why) {
    (void)why;
    if (strcmp(t->op, "gemm")) return false;
    blas.m = (int)t->arg[0], blas.n = (int)t->arg[1], blas.k = (int)t->arg[2];
    blas.a = peer_operand((size_t)blas.m * (size_t)blas.k, 0);
    blas.b = peer_operand((size_t)blas.k * (size_t)blas.n, 1);
    blas.c = peer_floats((size_t)blas.m * (size_t)blas.n);
    return true;
}

static void blas_call(void) {
    enum { ROW_MAJOR = 101, AS_IT_IS = 111 };
    blas.sgemm(ROW_MAJOR, AS_IT_IS, AS_IT_IS, blas.m, blas.n, blas.k, 1, blas.a, blas.k, blas.b,
               blas.n, 0, blas.c, blas.n);
}

static const float *blas_result(size_t *n) {
    *n = (size_t)blas.m * (size_t)blas.n;
    return blas.c;
}
