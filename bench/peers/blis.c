// BLIS. `BLIS_ARCH_TYPE` names the kernels to use where it does not know the processor.
// link: -ldl
#include "blas.h"

int main(void) {
    static const char *const paths[] = {"/usr/lib/x86_64-linux-gnu/blis-serial/libblis.so.4",
                                        "/usr/lib/x86_64-linux-gnu/blis-pthread/libblis.so.4",
                                        "/usr/lib/x86_64-linux-gnu/blis-openmp/libblis.so.4",
                                        "libblis.so.4", NULL};
    static char name[128] = "BLIS";
    void *lib = blas_load(paths + (getenv("LW_WALL") != NULL));
    if (!lib) return 1;
    int (*id)(void) = (int (*)(void))dlsym(lib, "bli_arch_query_id");
    const char *(*text)(int) = (const char *(*)(int))dlsym(lib, "bli_arch_string");
    void (*init)(void) = (void (*)(void))dlsym(lib, "bli_init");
    if (init && id && text) init(), snprintf(name, sizeof name, "BLIS (%s)", text(id()));
    return peer_main(&(Peer){name, blas_prepare, blas_call, blas_result});
}
