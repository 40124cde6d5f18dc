// LIBXSMM: kernels made at run time for one shape, called by pointer.
//
//     gemm M N K      C = A B; its matrices are column-major, so B and A change places
//
// need: libxsmm.h
// link: -lxsmm -lxsmmnoblas -lpthread -lm -ldl
#include "peer.h"

#include <libxsmm.h>

static struct {
    libxsmm_smmfunction kernel;
    size_t size;
    float *a, *b, *c;
} xsmm;

static bool prepare(const PeerTask *t, const char **why) {
    if (strcmp(t->op, "gemm")) return false;
    int m = (int)t->arg[0], n = (int)t->arg[1], k = (int)t->arg[2];
    float one = 1, zero = 0;
    int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
    xsmm.kernel = libxsmm_smmdispatch(n, m, k, &n, &k, &n, &one, &zero, &flags, &prefetch);
    *why = "no kernel";
    xsmm.a = peer_operand((size_t)m * (size_t)k, 0);
    xsmm.b = peer_operand((size_t)k * (size_t)n, 1);
    xsmm.c = peer_floats(xsmm.size = (size_t)m * (size_t)n);
    return xsmm.kernel != NULL;
}

static void call(void) { xsmm.kernel(xsmm.b, xsmm.a, xsmm.c); }

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
