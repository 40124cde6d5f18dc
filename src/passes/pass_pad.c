// pad: extends the ranges of a block until tiles divide them, and copies its tensors to larger
// buffers.
//
//     for [i:10, k:6]: C[i] += A[i, k]*x[k]                                            with to=4
//  -> A'[12, 8] = A, else -0; x'[8] = x, else 1; C'[12] = -0
//     for [i:12, k:8]: C'[i] += A'[i, k]*x'[k]
//     for [i:10]: C[i] += C'[i]
//
// Results are equal bit for bit: tree_block_pad proves this or refuses. The pass pays where a
// machine computes whole tiles anyway, and conditions cost more than the copies.
#include "base/checked.h"
#include "passes/schedule_impl.h"

enum { PAD_MAX_INDICES = 16 };

// The new ranges. Returns NULL, or the reason why there are none.
static const char *padded_ranges(PassRun *r, const Tree *t, const Block *b, int64_t *extent,
                                 double *share) {
    int64_t size[PAD_MAX_INDICES], to = pass_int(r, "to"), least = pass_int(r, "least");
    const char *why = NULL;
    double before = 1, after = 1;
    if (b->nindex > PAD_MAX_INDICES) return "it has more than 16 indices";
    for (int i = 0; i < b->nindex; i++) size[i] = to;
    if (!to) why = stencil_sizes(r, t, b, pass_text(r, "use"), size);
    if (why) return why;
    for (int i = 0; i < b->nindex; i++) {
        int64_t old = b->index[i].extent;
        extent[i] = old;
        if (old >= least && size[i] > 1) extent[i] = ceil_div(old, size[i]) * size[i];
        before *= (double)old;
        after *= (double)extent[i];
    }
    if (before == 0) return "it has no iterations";
    *share = after / before - 1;
    if (*share == 0) return "its tiles divide it";
    if (*share > pass_real(r, "most"))
        return arena_printf(r->arena, "there would be %.1f %% more iterations", 100 * *share);
    return NULL;
}

static const Tree *pad_one(PassRun *r, const Tree *t, int loop) {
    const Block *b = tree_loop_at(t, loop);
    int64_t extent[PAD_MAX_INDICES], range[PAD_MAX_INDICES];
    double share = 0;
    const char *why = padded_ranges(r, t, b, extent, &share);
    if (why) {
        pass_left(r, b, "%s", why);
        return t;
    }
    int unit = (int)pass_int(r, "unit"), move = (int)pass_int(r, "move");
    PadHow how = {.extent = extent};
    if (unit >= 0) how.place = unit_place(r, t, r->h->memory.at[unit].name);
    if (move >= 0) how.mover = unit_place(r, t, r->h->transfer.at[move].name);
    TreeEdit e = pass_edit(r);
    const Tree *now = tree_block_pad(t, loop, &how, &e);
    if (!now) {
        pass_refused(r, b);
        return t;
    }
    int64_t room = unit < 0 ? 0 : free_in_unit(r, t, loop), bytes = 0;
    for (int i = t->buffers.n; unit >= 0 && i < now->buffers.n; i++)
        bytes += buffer_bytes(&now->buffers.at[i], r->h->memory.at[unit].align);
    if (unit >= 0 && bytes > room) {
        pass_left(r, b, "its copies need %lld bytes, %lld are left in %s", (long long)bytes,
                  (long long)room, r->h->memory.at[unit].name);
        return t;
    }
    for (int i = 0; i < b->nindex; i++) range[i] = b->index[i].extent;
    int copies = now->buffers.n - t->buffers.n;
    pass_did(r, b, "%s of %s, %.1f %% more iterations, %d cop%s",
             tile_text(r->arena, extent, b->nindex), tile_text(r->arena, range, b->nindex),
             100 * share, copies, copies == 1 ? "y" : "ies");
    return now;
}

const Tree *pass_pad(PassRun *r, const Tree *t) {
    LoopList list = pass_blocks(r, t, "reqs");
    for (int i = 0; i < list.n; i++) t = pad_one(r, t, list.at[i]);
    return t;
}
