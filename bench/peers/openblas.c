// OpenBLAS. `OPENBLAS_CORETYPE` names the kernels to use if it does not know the processor; for one
// thread the single-threaded library is used.
// link: -ldl
#include "blas.h"

int main(void) {
    static const char *const paths[] = {
        "/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
        "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0", "libopenblas.so.0", NULL};
    static char name[128] = "OpenBLAS";
    void *lib = blas_load(paths + (getenv("LW_WALL") != NULL));
    if (!lib) return 1;
    char *(*core)(void) = (char *(*)(void))dlsym(lib, "openblas_get_corename");
    if (core) snprintf(name, sizeof name, "OpenBLAS (%s)", core());
    return peer_main(&(Peer){name, blas_prepare, blas_call, blas_result});
}
