#include "lab/rivals.h"

#include <string.h>

#define DNN2   "OMP_NUM_THREADS=1 ONEDNN_MAX_CPU_ISA=AVX2 ROW="
#define DNN512 "OMP_NUM_THREADS=1 ONEDNN_MAX_CPU_ISA=AVX512_CORE ROW="
#define DNN(NAME, OPS, HOW, ROW, OTHER)                                                            \
    { NAME, "onednn", OPS, HOW, {NULL, DNN2 ROW, DNN512 ROW}, OTHER }

// For large results, the C library may return memory to the system and allocate it again at every
// call, depending on the history of the process. Here it keeps its memory, which is faster.
#define KEEP " MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=1073741824"

const Rival rivals[] = {
    {"openblas",
     "openblas",
     "gemm,bgemm",
     "",
     {NULL, "OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell",
      "OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=SkylakeX"},
     false},
    {"blis",
     "blis",
     "gemm,bgemm",
     "",
     {NULL, "BLIS_NUM_THREADS=1 BLIS_ARCH_TYPE=3", "BLIS_NUM_THREADS=1 BLIS_ARCH_TYPE=0"},
     false},
    {"libxsmm",
     "libxsmm",
     "gemm,bgemm,compile-gemm",
     "",
     {NULL, "LIBXSMM_TARGET=hsw", "LIBXSMM_TARGET=clx"},
     false},
    DNN("onednn", "gemm,bgemm,conv,nchw,transpose,softmax,layernorm,rowsum,colsum", " 0", "0",
        false),
    DNN("packed B", "gemm", " 1", "1", false),
    DNN("plain", "conv", " 1", "1", false),
    DNN("its own", "conv", " 2", "2", false),
    DNN("winograd", "conv", " 3", "3", true),
    {"halide",
     "halide",
     "compile-gemm,compile-conv",
     "",
     {NULL, "HL_NUM_THREADS=1", "HL_NUM_THREADS=1"},
     false},
    {"torch",
     "torch",
     "bgemm,copy,axpy,triad,transpose,softmax,layernorm,rowsum,colsum,embedding,fcrelu,mlp3,kru,"
     "conv2d,gconv,groupnorm,moments,lut,lut2,tmm,tbmm,convnchw,attention,chain,c3",
     "",
     {NULL, NULL, "OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 DNNL_MAX_CPU_ISA=AVX512_CORE" KEEP},
     false},
    {"numpy",
     "torch",
     "einsum,einsum64,copy,axpy,rowsum,colsum",
     " numpy",
     {NULL, NULL, "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 LW_ROW=numpy" KEEP},
     false},
    {0},
};

bool rival_word(const char *words, const char *word, size_t n) {
    for (const char *at = words; (at = strchr(at, *word)) != NULL; at++)
        if (!strncmp(at, word, n) && (at == words || at[-1] == ',' || at[-1] == ' ') &&
            (at[n] == 0 || at[n] == ',' || at[n] == ' '))
            return true;
    return false;
}

// The environment for several threads, which are timed by wall-clock time and bound to cores by
// OpenMP; false: it supports only one thread.
static bool with_threads(char env[256], const char *one, int threads) {
    static const char word[] = "NUM_THREADS=";
    size_t n = 0;
    const char *from = one, *at;
    for (; (at = strstr(from, word)) != NULL; from = at + sizeof word) // past the digit
        n += (size_t)snprintf(env + n, 256 - n, "%.*s%s%d", (int)(at - from), from, word, threads);
    snprintf(env + n, 256 - n, "%s LW_WALL=1 OMP_PROC_BIND=true", from);
    return n > 0;
}

void rivals_add(Lab *lab, Trial *t, const char *task, int isa, const char *only) {
    char line[LAB_LINE], env[256];
    for (const Rival *r = rivals; r->name; r++) {
        if (!rival_word(r->ops, task, strcspn(task, " ")) || !r->env[isa]) continue;
        if (only && !rival_word(only, r->name, strlen(r->name)) &&
            !rival_word(only, r->program, strlen(r->program)))
            continue;
        snprintf(env, sizeof env, "%s", r->env[isa]);
        if (t->threads > 1 && !with_threads(env, r->env[isa], t->threads)) continue;
        snprintf(line, sizeof line, "%s%s", task, r->how);
        if (t->own)
            trial_ask_peer(t, lab_peer(lab, r->program, env), r->name, line);
        else
            trial_add_peer(t, lab_peer(lab, r->program, env), r->name, line);
    }
}
