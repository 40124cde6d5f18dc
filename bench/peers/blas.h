// Peers that offer cblas_sgemm. OpenBLAS and BLIS export the same symbols, so each is loaded by its
// own path, in a process of its own.
//
//     gemm M N K             C = A B, row-major
//     bgemm B M N K T        B of them, one after the other; T 1: each B is stored N x K, 2: each A
//     K x M
#include "peer.h"

#include <dlfcn.h>

typedef void Sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                   int lda, const float *b, int ldb, float beta, float *c, int ldc);

static struct {
    Sgemm *sgemm;
    int batch, m, n, k, turned;
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
    bool many = !strcmp(t->op, "bgemm");
    const int64_t *at = t->arg + many;
    if (strcmp(t->op, "gemm") && !many) return false;
    blas.batch = many ? (int)t->arg[0] : 1, blas.turned = many ? (int)t->arg[4] : 0;
    blas.m = (int)at[0], blas.n = (int)at[1], blas.k = (int)at[2];
    size_t batch = (size_t)blas.batch;
    blas.a = peer_operand(batch * (size_t)blas.m * (size_t)blas.k, 0);
    blas.b = peer_operand(batch * (size_t)blas.k * (size_t)blas.n, 1);
    blas.c = peer_floats(batch * (size_t)blas.m * (size_t)blas.n);
    return true;
}

static void blas_call(void) {
    enum { ROW_MAJOR = 101, AS_IT_IS = 111, TRANSPOSED = 112 };
    int m = blas.m, n = blas.n, k = blas.k;
    bool ta = blas.turned == 2, tb = blas.turned == 1;
    for (int i = 0; i < blas.batch; i++)
        blas.sgemm(ROW_MAJOR, ta ? TRANSPOSED : AS_IT_IS, tb ? TRANSPOSED : AS_IT_IS, m, n, k, 1,
                   blas.a + (int64_t)i * m * k, ta ? m : k, blas.b + (int64_t)i * k * n, tb ? k : n,
                   0, blas.c + (int64_t)i * m * n, n);
}

static const float *blas_result(size_t *n) {
    *n = (size_t)blas.batch * (size_t)blas.m * (size_t)blas.n;
    return blas.c;
}
