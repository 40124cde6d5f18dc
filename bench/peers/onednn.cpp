// oneDNN. Reorders into the layouts that it prefers are no part of a call.
//
//     gemm M N K HOW                           HOW 0: plain, 1: B packed
//     bgemm B M N K T                          B of them; T 1: each B is stored N x K, 2: each A K x M
//     conv N H W C K R STRIDE PAD GROUPS HOW   R x R filters, NHWC results
//         HOW 0: NHWC, filters packed; 1: all plain (NHWC, HWIO); 2: all as it likes; 3: Winograd
//     nchw N H W C K R STRIDE PAD GROUPS       the same, all plain and channels first
//     transpose M N
//     softmax M N                              along rows
//     layernorm M N                            with scale and shift, statistics kept
//     rowsum M N, colsum M N
//
// need: dnnl.hpp
// link: -ldnnl
#include <dnnl.hpp>

#include "peer.h"

#include <algorithm>
#include <unordered_map>

using namespace dnnl;
using dims = memory::dims;
using tag = memory::format_tag;

namespace {

const auto f32 = memory::data_type::f32;
engine cpu(engine::kind::cpu, 0);
stream queue(cpu);

struct {
    primitive p;
    std::unordered_map<int, memory> args;
    memory plain; // where the result goes in plain layout
    float *data;
    size_t n;
} task;

size_t count(const dims &d) {
    size_t n = 1;
    for (auto i : d) n *= static_cast<size_t>(i);
    return n;
}

// Operand number `seed` as it stands in memory, in plain layout.
memory operand(const dims &d, tag plain, unsigned seed) {
    return memory({d, f32, plain}, cpu, peer_operand(count(d), seed));
}

// The same in the layout `want`.
memory as(memory from, const memory::desc &want) {
    if (from.get_desc() == want) return from;
    memory to(want, cpu, peer_floats(want.get_size() / sizeof(float)));
    reorder(from, to).execute(queue, from, to);
    queue.wait();
    return to;
}

memory fresh(const memory::desc &d) {
    return memory(d, cpu, peer_floats(d.get_size() / sizeof(float)));
}

void result(const dims &d, tag plain) {
    task.n = count(d);
    task.data = peer_floats(task.n);
    task.plain = memory({d, f32, plain}, cpu, task.data);
}

void gemm(const int64_t *a) {
    dims da{a[0], a[2]}, db{a[2], a[1]}, dc{a[0], a[1]};
    memory::desc c(dc, f32, tag::ab);
    matmul::desc d({da, f32, tag::ab}, {db, f32, a[3] ? tag::any : tag::ab}, c);
    matmul::primitive_desc pd(d, cpu);
    task.p = matmul(pd);
    task.args = {{DNNL_ARG_SRC, operand(da, tag::ab, 0)},
                 {DNNL_ARG_WEIGHTS, as(operand(db, tag::ab, 1), pd.weights_desc())},
                 {DNNL_ARG_DST, fresh(c)}};
    result(dc, tag::ab);
}

void bgemm(const int64_t *a) {
    dims da{a[0], a[1], a[3]}, db{a[0], a[3], a[2]}, dc{a[0], a[1], a[2]};
    tag left = a[4] == 2 ? tag::acb : tag::abc, right = a[4] == 1 ? tag::acb : tag::abc;
    memory::desc c(dc, f32, tag::abc);
    matmul::primitive_desc pd(matmul::desc({da, f32, left}, {db, f32, right}, c), cpu);
    task.p = matmul(pd);
    task.args = {{DNNL_ARG_SRC, operand(da, left, 0)},
                 {DNNL_ARG_WEIGHTS, operand(db, right, 1)},
                 {DNNL_ARG_DST, fresh(c)}};
    result(dc, tag::abc);
}

void conv(const int64_t *a) {
    int64_t n = a[0], h = a[1], w = a[2], c = a[3], k = a[4], r = a[5], stride = a[6], pad = a[7];
    int64_t groups = a[8], how = a[9];
    int64_t oh = (h + 2 * pad - r) / stride + 1, ow = (w + 2 * pad - r) / stride + 1;
    dims ds{n, c, h, w}, dd{n, k, oh, ow};
    dims dw = groups > 1 ? dims{groups, k / groups, c / groups, r, r} : dims{k, c, r, r};
    bool first = how == 4;
    tag nhwc = first ? tag::nchw : tag::nhwc;
    tag hwio = groups > 1 ? first ? tag::goihw : tag::hwigo : first ? tag::oihw : tag::hwio;
    tag image = how == 2 || how == 3 ? tag::any : nhwc,
        filter = how == 1 || first ? hwio : tag::any;
    auto algorithm = how == 3 ? algorithm::convolution_winograd : algorithm::convolution_direct;
    convolution_forward::desc d(prop_kind::forward_inference, algorithm, {ds, f32, image},
                                {dw, f32, filter}, {dd, f32, image}, {stride, stride}, {pad, pad},
                                {pad, pad});
    convolution_forward::primitive_desc pd(d, cpu);
    task.p = convolution_forward(pd);
    task.args = {{DNNL_ARG_SRC, as(operand(ds, nhwc, 0), pd.src_desc())},
                 {DNNL_ARG_WEIGHTS, as(operand(dw, hwio, 1), pd.weights_desc())},
                 {DNNL_ARG_DST, fresh(pd.dst_desc())}};
    result(dd, nhwc);
}

void nchw(const int64_t *a) {
    int64_t all[10];
    std::copy(a, a + 9, all);
    all[9] = 4;
    conv(all);
}

void transpose(const int64_t *a) {
    dims d{a[0], a[1]};
    memory from = operand(d, tag::ab, 0), to = fresh({d, f32, tag::ba});
    task.p = reorder(from, to);
    task.args = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    task.n = count(d);
    task.data = static_cast<float *>(to.get_data_handle());
}

void softmax(const int64_t *a) {
    dims d{a[0], a[1]};
    memory::desc m(d, f32, tag::ab);
    softmax_v2_forward::desc sd(prop_kind::forward_inference, algorithm::softmax_accurate, m, m, 1);
    task.p = softmax_v2_forward(softmax_v2_forward::primitive_desc(sd, cpu));
    task.args = {{DNNL_ARG_SRC, operand(d, tag::ab, 0)}, {DNNL_ARG_DST, fresh(m)}};
    result(d, tag::ab);
}

void layernorm(const int64_t *a) {
    dims d{a[0], a[1]}, row{a[1]}, column{a[0]};
    memory::desc m(d, f32, tag::ab), statistics(column, f32, tag::a);
    auto flags = normalization_flags::use_scale | normalization_flags::use_shift;
    layer_normalization_forward::desc ld(prop_kind::forward_training, m, statistics, 1e-5f, flags);
    task.p = layer_normalization_forward(layer_normalization_forward::primitive_desc(ld, cpu));
    task.args = {
        {DNNL_ARG_SRC, operand(d, tag::ab, 0)},    {DNNL_ARG_SCALE, operand(row, tag::a, 1)},
        {DNNL_ARG_SHIFT, operand(row, tag::a, 2)}, {DNNL_ARG_MEAN, fresh(statistics)},
        {DNNL_ARG_VARIANCE, fresh(statistics)},    {DNNL_ARG_DST, fresh(m)}};
    result(d, tag::ab);
}

void sum(const int64_t *a, bool rows) {
    dims d{a[0], a[1]}, s = rows ? dims{a[0], 1} : dims{1, a[1]};
    memory::desc from(d, f32, tag::ab), to(s, f32, tag::ab);
    reduction::desc rd(algorithm::reduction_sum, from, to, 0, 0);
    task.p = reduction(reduction::primitive_desc(rd, cpu));
    task.args = {{DNNL_ARG_SRC, operand(d, tag::ab, 0)}, {DNNL_ARG_DST, fresh(to)}};
    result(s, tag::ab);
}

void rowsum(const int64_t *a) { sum(a, true); }
void colsum(const int64_t *a) { sum(a, false); }

bool prepare(const PeerTask *t, const char **why) {
    static const struct {
        const char *op;
        void (*make)(const int64_t *);
    } ops[] = {{"gemm", gemm},     {"bgemm", bgemm},         {"conv", conv},
               {"nchw", nchw},     {"transpose", transpose}, {"softmax", softmax},
               {"rowsum", rowsum}, {"colsum", colsum},       {"layernorm", layernorm}};
    static char text[128];
    task.args.clear();
    task.plain = memory();
    for (auto &op : ops)
        if (!strcmp(op.op, t->op)) try {
                op.make(t->arg);
                return true;
            } catch (error &e) {
                snprintf(text, sizeof text, "%s", e.what());
                *why = text;
                return false;
            }
    return false;
}

void call() {
    task.p.execute(queue, task.args);
    queue.wait();
}

const float *plain(size_t *n) {
    if (task.plain) {
        memory from = task.args.at(DNNL_ARG_DST);
        reorder(from, task.plain).execute(queue, from, task.plain);
        queue.wait();
    }
    *n = task.n;
    return task.data;
}

} // namespace

int main() {
    static char name[64];
    auto *v = dnnl_version();
    snprintf(name, sizeof name, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    Peer peer = {name, prepare, call, plain};
    return peer_main(&peer);
}
