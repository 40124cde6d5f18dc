// LIBXSMM: kernels made at run time for one shape, called by pointer.
//
//     gemm M N K           C = A B; its matrices are column-major, so B and A change places
//     compile-gemm M N K   make that kernel, with another distance between rows of C each time:
//                          it never makes one twice
//
// need: libxsmm.h
// link: -lxsmm -lxsmmnoblas -lpthread -lm -ldl
#include "peer.h"

#include <libxsmm.h>

static struct {
    libxsmm_smmfunction kernel;
    bool compiles;
    int m, n, k;
    size_t size;
    float *a, *b, *c;
} xsmm;

static void make(int gap) {
    int m = xsmm.m, n = xsmm.n, k = xsmm.k, ldc = n + gap;
    float one = 1, zero = 0;
    int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
    xsmm.kernel = libxsmm_smmdispatch(n, m, k, &n, &k, &ldc, &one, &zero, &flags, &prefetch);
}

static bool prepare(const PeerTask *t, const char **why) {
    xsmm.compiles = !strcmp(t->op, "compile-gemm");
    if (strcmp(t->op, "gemm") && !xsmm.compiles) return false;
    xsmm.m = (int)t->arg[0], xsmm.n = (int)t->arg[1], xsmm.k = (int)t->arg[2];
    if (xsmm.compiles) return true;
    make(0);
    *why = "no kernel";
    xsmm.a = peer_operand((size_t)xsmm.m * (size_t)xsmm.k, 0);
    xsmm.b = peer_operand((size_t)xsmm.k * (size_t)xsmm.n, 1);
    xsmm.c = peer_floats(xsmm.size = (size_t)xsmm.m * (size_t)xsmm.n);
    return xsmm.kernel != NULL;
}

static void call(void) {
    static int gap;
    if (xsmm.compiles)
        make(++gap);
    else
        xsmm.kernel(xsmm.b, xsmm.a, xsmm.c);
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
