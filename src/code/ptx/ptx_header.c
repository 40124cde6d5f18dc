// Prints the C header of a file of kernels: a function that launches them through the CUDA driver.
#include "code/ptx/ptx.h"

static void describe(Text *out, const Tree *t) {
    for (int i = 0; i < t->nargs; i++) {
        text_printf(out, "//   arg%d  %s ", i, t->buffers.at[i].name);
        argument_print(out, t, i);
        text_char(out, '\n');
    }
}

static void launches(Text *out, const PtxCode *code) {
    for (int i = 0; i < code->nlaunches; i++) {
        const PtxLaunch *l = &code->launch[i];
        text_printf(out, "        {\"%s\", {%u, %u, %u}, {%u, %u, %u}, %u},\n", l->name, l->grid[0],
                    l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared);
    }
}

void ptx_header(Text *out, const PtxCode *code, const Tree *t) {
    const char *name = code->name;
    text_printf(out, "#ifndef LW_%s_H\n#define LW_%s_H\n\n#include <cuda.h>\n\n", name, name);
    text_printf(
        out,
        "// Launches the kernels of %s, in order, on a stream, which may be in capture mode. The\n"
        "// module is the file that this header belongs to, by cuModuleLoad. Device "
        "pointers,\n// aligned to 16 bytes:\n",
        name);
    describe(out, t);
    text_printf(out,
                "//   scratch  %s_scratch bytes, any content\n"
                "//   status   an unsigned that is 0; not 0 after an index from data was out of "
                "range\n#define %s_scratch %lldLL\n",
                name, name, (long long)code->scratch);
    text_printf(out, "static inline CUresult %s_launch(CUmodule module, CUstream stream,", name);
    for (int i = 0; i < t->nargs; i++) text_printf(out, " CUdeviceptr arg%d,", i);
    text_add(out, "\n    CUdeviceptr scratch, CUdeviceptr status) {\n"
                  "    static const struct {\n        const char *kernel;\n"
                  "        unsigned grid[3], block[3], shared;\n    } launch[] = {\n");
    launches(out, code);
    text_add(out, "    };\n    void *args[] = {");
    for (int i = 0; i < t->nargs; i++) text_printf(out, "&arg%d, ", i);
    text_printf(out,
                "&scratch, &status};\n"
                "    for (unsigned i = 0; i < %uu; i++) {\n"
                "        CUfunction f;\n"
                "        const unsigned *g = launch[i].grid, *b = launch[i].block;\n"
                "        CUresult r = cuModuleGetFunction(&f, module, launch[i].kernel);\n"
                "        if (!r && launch[i].shared > 48 * 1024)\n"
                "            r = cuFuncSetAttribute(f, "
                "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,\n"
                "                                   (int)launch[i].shared);\n"
                "        if (!r)\n"
                "            r = cuLaunchKernel(f, g[0], g[1], g[2], b[0], b[1], b[2], "
                "launch[i].shared,\n"
                "                               stream, args, 0);\n"
                "        if (r) return r;\n    }\n    return CUDA_SUCCESS;\n}\n\n#endif\n",
                (unsigned)code->nlaunches);
}
