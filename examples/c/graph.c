// A convolution with bias and relu as a dataflow graph, built from C, printed, and run.
//
//     cc graph.c $(pkg-config --cflags --libs loopwright) -o graph
#include <loopwright.h>

#include <stdio.h>

int main(void) {
    lw_context *ctx = lw_context_new(NULL);
    lw_graph *g;
    if (lw_graph_new(ctx, "conv_relu", &g)) return 1;
    DLDataType f32 = {kDLFloat, 32, 1};
    int h = lw_graph_dim(g, "H"), k = lw_graph_dim(g, "K"), o = lw_graph_dim(g, "O");
    int image = lw_graph_read(g, "image", f32, 1, &h);
    int weights = lw_graph_read(g, "weights", f32, 1, &k);
    int bias = lw_graph_read(g, "bias", f32, 0, NULL);
    lw_window window = {.from = h, .to = o, .taps = k};
    int sum = lw_graph_conv(g, image, weights, 1, &window, 0, NULL);
    int result = lw_graph_unary(g, "relu", lw_graph_binary(g, "add", sum, bias));
    lw_graph_write(g, "out", result, 1, &o);

    lw_module *mod;
    if (lw_graph_build(g, &mod)) { // reports the errors of all calls above
        fprintf(stderr, "%s", lw_diag_text(ctx));
        return 1;
    }
    const lw_function *f = lw_module_function(mod, 0);
    const char *text;
    printf("%s\n", lw_function_signature(f));
    if (lw_graph_text(g, &text) == LW_OK) printf("%s", text);

    float in[] = {1, 2, 3, 4, -9}, w[] = {1, 10}, b[] = {0.5f}, out[4];
    DLDevice cpu = {kDLCPU, 0};
    DLTensor I = {in, cpu, 1, f32, (int64_t[]){5}, NULL, 0};
    DLTensor W = {w, cpu, 1, f32, (int64_t[]){2}, NULL, 0};
    DLTensor B = {b, cpu, 0, f32, NULL, NULL, 0};
    DLTensor O = {out, cpu, 1, f32, (int64_t[]){4}, NULL, 0};
    const DLTensor *args[] = {&I, &W, &B, &O};
    lw_bound *bound;
    lw_status status = lw_bind_tensors(ctx, f, args, 4, NULL, 0, &bound);
    if (!status) status = lw_run(ctx, bound, args, 4, NULL);
    if (status) fprintf(stderr, "%s", lw_diag_text(ctx));
    printf("%g %g %g %g\n", out[0], out[1], out[2], out[3]);
    lw_bound_free(bound);
    lw_module_free(mod);
    lw_graph_free(g);
    lw_context_free(ctx);
    return status != LW_OK;
}
