// Halide: LLVM under the loops of our schedules. What is compared is how long it compiles.
//
//     gemm M N K             run:     the loops of examples/schedules/gemm_avx512.lws
//     compile-gemm M N K     compile: those of gemm_packed.lws, B packed
//     compile-conv H C K     compile: a 3 x 3 convolution, those of conv3x3_w6.lws
//
// need: Halide.h
// flags: -isystem /usr/include/halide14
// link: -lHalide14 -lpthread -ldl
#include <Halide.h>

#include "peer.h"

using namespace Halide;

namespace {

struct {
    std::function<void()> run;
    Buffer<float> out;
} task;

Target here() {
    Target t = get_jit_target_from_environment();
    return t.with_feature(Target::NoAsserts).with_feature(Target::NoBoundsQuery);
}

// A tile of `rows` by `columns` elements that stays in registers while the sum over `k` runs.
void keep_tile(Func sum, Func tile, Var at, Var fast, Var slow, const std::vector<RVar> &k) {
    sum.compute_at(tile, at).vectorize(fast, 16).unroll(fast).unroll(slow);
    std::vector<VarOrRVar> order{fast, slow};
    order.insert(order.end(), k.begin(), k.end());
    sum.update().reorder(order).vectorize(fast, 16).unroll(fast).unroll(slow);
}

Pipeline gemm(Buffer<float> a, Buffer<float> b, int64_t m, int64_t n, int64_t k, bool pack) {
    Var i("i"), j("j"), io("io"), jo("jo"), ii("ii"), ji("ji"), jj("jj");
    RDom r(0, static_cast<int>(k));
    Func from("B"), sum("sum"), c("C");
    from(j, i) = b(j, i);
    sum(j, i) += a(r, i) * (pack ? Expr(from(j, r)) : Expr(b(j, r)));
    c(j, i) = sum(j, i);
    c.bound(j, 0, static_cast<int>(n)).bound(i, 0, static_cast<int>(m));
    if (pack) {
        c.split(j, jj, j, 256).tile(j, i, jo, io, ji, ii, 64, 6, TailStrategy::GuardWithIf);
        c.reorder(ji, ii, jo, io, jj);
        from.compute_at(c, jj).vectorize(j, 16);
    } else {
        c.tile(j, i, jo, io, ji, ii, 64, 6, TailStrategy::GuardWithIf).reorder(ji, ii, io, jo);
    }
    c.vectorize(ji, 16).unroll(ji).unroll(ii);
    keep_tile(sum, c, pack ? jo : io, j, i, {r.x});
    return Pipeline(c);
}

Pipeline conv(Buffer<float> image, Buffer<float> filter, int64_t h, int64_t c, int64_t k) {
    Var i("k"), x("x"), y("y"), xo("xo"), xi("xi"), ko("ko"), ki("ki"), ch("c");
    RDom r(0, static_cast<int>(c), 0, 3, 0, 3);
    Func padded("P"), sum("sum"), out("O");
    padded = BoundaryConditions::constant_exterior(image, 0.f);
    sum(i, x, y) += padded(r.x, x + r.y - 1, y + r.z - 1) * filter(i, r.x, r.y, r.z);
    out(i, x, y) = sum(i, x, y);
    out.bound(i, 0, static_cast<int>(k)).bound(x, 0, static_cast<int>(h));
    out.bound(y, 0, static_cast<int>(h));
    out.tile(i, x, ko, xo, ki, xi, 64, 6, TailStrategy::GuardWithIf).reorder(ki, xi, xo, y, ko);
    out.vectorize(ki, 16).unroll(ki).unroll(xi);
    keep_tile(sum, out, xo, i, x, {r.x, r.y, r.z});
    padded.compute_root().vectorize(padded.args()[0], 16);
    return Pipeline(out);
}

bool prepare(const PeerTask *t, const char **why) {
    const int64_t *a = t->arg;
    auto buffer = [](std::vector<int> size, unsigned seed) {
        size_t n = 1;
        for (int s : size) n *= static_cast<size_t>(s);
        return Buffer<float>(peer_operand(n, seed), size);
    };
    auto s = [](int64_t x) { return static_cast<int>(x); };
    bool run = !strcmp(t->op, "gemm");
    if (run || !strcmp(t->op, "compile-gemm")) {
        auto x = buffer({s(a[2]), s(a[0])}, 0), y = buffer({s(a[1]), s(a[2])}, 1);
        int64_t m = a[0], n = a[1], k = a[2];
        task.out = Buffer<float>(peer_floats(static_cast<size_t>(m * n)), {s(n), s(m)});
        if (run) {
            Pipeline p = gemm(x, y, m, n, k, false);
            p.compile_jit(here());
            task.run = [p]() mutable { p.realize(task.out); };
        } else {
            task.run = [=] { gemm(x, y, m, n, k, true).compile_jit(here()); };
        }
        return true;
    }
    if (!strcmp(t->op, "compile-conv")) {
        auto x = buffer({s(a[1]), s(a[0]), s(a[0])}, 0);
        auto f = buffer({s(a[2]), s(a[1]), 3, 3}, 1);
        int64_t h = a[0], c = a[1], k = a[2];
        task.run = [=] { conv(x, f, h, c, k).compile_jit(here()); };
        return true;
    }
    *why = "not offered";
    return false;
}

void call() { task.run(); }

const float *result(size_t *n) {
    *n = task.out.number_of_elements();
    return task.out.data();
}

} // namespace

int main() {
    Peer peer = {"Halide 14 (LLVM)", prepare, call, result};
    return peer_main(&peer);
}
