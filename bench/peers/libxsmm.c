// LIBXSMM: kernels generated at run time for one shape, called by pointer.
//
//     gemm M N K           C = A B; its matrices are column-major, so A and B are exchanged
//     bgemm B M N K TB     B of them; TB 1: each B is stored N x K
//     compile-gemm M N K   generate that kernel, with a different row stride of C each time,
//                          because it caches kernels
//
// need: libxsmm.h
// link: -lxsmm -lxsmmnoblas -lpthread -lm -ldl
#include "peer.h"

#include <libxsmm.h>

static struct {
    libxsmm_smmfunction kernel;
    bool compiles;
    int batch, m, n, k, tb;
    size_t size;
    float *a, *b, *c;
} xsmm;

static void make(int gap) {
    int m = xsmm.m, n = xsmm.n, k = xsmm.k, ldc = n + gap;
    float one = 1, zero = 0;
    int flags = xsmm.tb ? LIBXSMM_GEMM_FLAG_TRANS_A : LIBXSMM_GEMM_FLAG_NONE;
    int prefetch = LIBXSMM_GEMM_PREFETCH_NONE, ldb = xsmm.tb ? k : n;
    xsmm.kernel = libxsmm_smmdispatch(n, m, k, &ldb, &k, &ldc, &one, &zero, &flags, &prefetch);
}

static bool prepare(const PeerTask *t, const char **why) {
    bool many = !strcmp(t->op, "bgemm");
    const int64_t *at = t->arg + many;
    xsmm.compiles = !strcmp(t->op, "compile-gemm");
    if (strcmp(t->op, "gemm") && !many && !xsmm.compiles) return false;
    xsmm.m = (int)at[0], xsmm.n = (int)at[1], xsmm.k = (int)at[2];
    xsmm.batch = many ? (int)t->arg[0] : 1, xsmm.tb = many ? (int)t->arg[4] : 0;
    if (xsmm.compiles) return true;
    if (xsmm.tb > 1) return false;
    make(0);
    *why = "no kernel";
    size_t batch = (size_t)xsmm.batch;
    xsmm.a = peer_operand(batch * (size_t)xsmm.m * (size_t)xsmm.k, 0);
    xsmm.b = peer_operand(batch * (size_t)xsmm.k * (size_t)xsmm.n, 1);
    xsmm.c = peer_floats(xsmm.size = batch * (size_t)xsmm.m * (size_t)xsmm.n);
    return xsmm.kernel != NULL;
}

static void call(void) {
    static int gap;
    if (xsmm.compiles) {
        make(++gap);
        return;
    }
    int64_t a = (int64_t)xsmm.m * xsmm.k, b = (int64_t)xsmm.k * xsmm.n,
            c = (int64_t)xsmm.m * xsmm.n;
    for (int64_t i = 0; i < xsmm.batch; i++)
        xsmm.kernel(xsmm.b + i * b, xsmm.a + i * a, xsmm.c + i * c);
}

static const float *result(size_t *n) {
    *n = xsmm.size;
    return xsmm.c;
}

int main(void) {
    static char name[128];
    libxsmm_init();
    snprintf(name, sizeof name, "LIBXSMM %s (%s)", LIBXSMM_VERSION, libxsmm_get_target_arch());
    return peer_main(&(Peer){name, prepare, call, result});
}
