#include "lab/rivals.h"

#include <string.h>

#define DNN2   "OMP_NUM_THREADS=1 ONEDNN_MAX_CPU_ISA=AVX2 ROW="
#define DNN512 "OMP_NUM_THREADS=1 ONEDNN_MAX_CPU_ISA=AVX512_CORE ROW="
#define DNN(NAME, OPS, HOW, ROW, OTHER)                                                            \
    { NAME, "onednn", OPS, HOW, {NULL, DNN2 ROW, DNN512 ROW}, OTHER }

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
    DNN("onednn", "gemm,bgemm,conv,transpose,softmax,layernorm,rowsum,colsum", " 0", "0", false),
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
     "gconv,groupnorm,moments,lut,tmm,tbmm,convnchw,attention,chain,c3",
     "",
     {NULL, NULL, "OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 DNNL_MAX_CPU_ISA=AVX512_CORE"},
     false},
    {"numpy",
     "torch",
     "einsum,einsum64,copy,axpy,rowsum,colsum",
     " numpy",
     {NULL, NULL, "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 LW_ROW=numpy"},
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

void rivals_add(Lab *lab, Trial *t, const char *task, int isa, const char *only) {
    char line[LAB_LINE];
    for (const Rival *r = rivals; r->name; r++) {
        if (!rival_word(r->ops, task, strcspn(task, " ")) || !r->env[isa]) continue;
        if (only && !rival_word(only, r->name, strlen(r->name)) &&
            !rival_word(only, r->program, strlen(r->program)))
            continue;
        snprintf(line, sizeof line, "%s%s", task, r->how);
        trial_add_peer(t, lab_peer(lab, r->program, r->env[isa]), r->name, line);
    }
}
