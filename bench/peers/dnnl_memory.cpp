// oneDNN's memory-bound primitives for bench/memory.c, as a shared object:
//
//     g++ -O2 -shared -fPIC bench/peers/dnnl_memory.cpp -o build/dnnl_memory.so -ldnnl
//
// Run with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 where AMX is not available.
#include <dnnl.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

using namespace dnnl;
using tag = memory::format_tag;

namespace {
const auto f32 = memory::data_type::f32;
engine cpu(engine::kind::cpu, 0);
stream order(cpu);

struct Call {
    primitive p;
    std::unordered_map<int, memory> args;
};

float *fresh(size_t n) {
    auto *p =
        static_cast<float *>(aligned_alloc(1 << 21, (n * 4 + (1 << 21)) & ~((1ul << 21) - 1)));
    for (size_t i = 0; i < n; i++) p[i] = static_cast<float>(i % 17) * 0.01f;
    return p;
}

Call *make_reorder(int64_t n) {
    memory a({{n, n}, f32, tag::ab}, cpu, fresh(n * n)),
        b({{n, n}, f32, tag::ba}, cpu, fresh(n * n));
    return new Call{reorder(a, b), {{DNNL_ARG_FROM, a}, {DNNL_ARG_TO, b}}};
}

Call *make_softmax(int64_t n) {
    memory::desc d({n, n}, f32, tag::ab);
    softmax_v2_forward::desc sd(prop_kind::forward_inference, algorithm::softmax_accurate, d, d, 1);
    softmax_v2_forward p(softmax_v2_forward::primitive_desc(sd, cpu));
    return new Call{
        p, {{DNNL_ARG_SRC, {d, cpu, fresh(n * n)}}, {DNNL_ARG_DST, {d, cpu, fresh(n * n)}}}};
}

Call *make_layernorm(int64_t n) {
    memory::desc d({n, n}, f32, tag::ab), v({n}, f32, tag::a);
    // statistics are results too, as in the program that is compared
    layer_normalization_forward::desc ld(prop_kind::forward_training, d, 1e-5f,
                                         normalization_flags::use_scale |
                                             normalization_flags::use_shift);
    layer_normalization_forward p(layer_normalization_forward::primitive_desc(ld, cpu));
    return new Call{p,
                    {{DNNL_ARG_SRC, {d, cpu, fresh(n * n)}},
                     {DNNL_ARG_SCALE, {v, cpu, fresh(n)}},
                     {DNNL_ARG_SHIFT, {v, cpu, fresh(n)}},
                     {DNNL_ARG_MEAN, {v, cpu, fresh(n)}},
                     {DNNL_ARG_VARIANCE, {v, cpu, fresh(n)}},
                     {DNNL_ARG_DST, {d, cpu, fresh(n * n)}}}};
}

Call *make_sum(int64_t n, bool rows) {
    memory::dims od = rows ? memory::dims{n, 1} : memory::dims{1, n};
    memory::desc d({n, n}, f32, tag::ab), o(od, f32, tag::ab);
    reduction p(reduction::primitive_desc({algorithm::reduction_sum, d, o, 0, 0}, cpu));
    return new Call{p,
                    {{DNNL_ARG_SRC, {d, cpu, fresh(n * n)}}, {DNNL_ARG_DST, {o, cpu, fresh(n)}}}};
}

Call *make_depthwise(int64_t c, int64_t hw) {
    memory::desc x({1, c, hw, hw}, f32, tag::nhwc), w({c, 1, 1, 3, 3}, f32, tag::any);
    convolution_forward::desc cd(prop_kind::forward_inference, algorithm::convolution_direct, x, w,
                                 x, {1, 1}, {1, 1}, {1, 1});
    convolution_forward::primitive_desc pd(cd, cpu);
    memory wm(pd.weights_desc(), cpu, fresh(pd.weights_desc().get_size() / 4));
    return new Call{convolution_forward(pd),
                    {{DNNL_ARG_SRC, {x, cpu, fresh(c * hw * hw)}},
                     {DNNL_ARG_WEIGHTS, wm},
                     {DNNL_ARG_DST, {x, cpu, fresh(c * hw * hw)}}}};
}
} // namespace

extern "C" void *peer_make(const char *op, int64_t n, void **) {
    if (!strcmp(op, "transpose")) return make_reorder(n);
    if (!strcmp(op, "softmax")) return make_softmax(n);
    if (!strcmp(op, "layernorm")) return make_layernorm(n);
    if (!strcmp(op, "rowsum")) return make_sum(n, true);
    if (!strcmp(op, "colsum")) return make_sum(n, false);
    if (!strncmp(op, "depthwise", 9)) return make_depthwise(atoi(op + 9), n);
    return nullptr;
}

extern "C" void peer_run(void *call) {
    auto *c = static_cast<Call *>(call);
    c->p.execute(order, c->args);
    order.wait();
}
