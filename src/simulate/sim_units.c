// The units of a machine that a located Tree names: where a block runs, and where a buffer lies.
#include "simulate/sim_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

// --- Units ---------------------------------------------------------------------------------------

// Enters UNIT[n]. n counts inside the surrounding unit, or over all units if there is none.
static bool enter_unit(const Hardware *h, const Tree *t, const Block *b, const Unit *u, int compute,
                       const int64_t *value, Where *now, DiagList *diags) {
    int64_t inside = now->compute >= 0 && now->compute != compute
                         ? hardware_inside(h, compute, now->compute)
                         : 0;
    int64_t limit = inside ? inside : hardware_units(h, compute), number = 0, v;
    for (int i = 0; i < u->n; i++) {
        if (!affine_eval(u->at[i], value, NULL, NULL, NULL, &v)) v = -1;
        bool fits = v >= 0 && checked_mul(number, h->compute.at[compute].count, &number) &&
                    checked_add(number, v, &number) && number < limit;
        if (fits) continue;
        diag_report(diags, tree_range(t, &b->node), DIAG_SIM_NUMBER, u->name, (long long)v, h->name,
                    (long long)limit);
        return false;
    }
    if (!u->n && now->compute == compute) return true; // the same place again
    int64_t before = inside ? now->number : 0;
    if (!checked_fma(before, inside, &number)) number = 0;
    now->number = number;
    now->compute = compute;
    now->engine = -1;
    return true;
}

bool where_of(const Hardware *h, const Tree *t, const Block *b, Where around, const int64_t *value,
              Where *out, DiagList *diags) {
    *out = around;
    for (int i = 0; i < b->place.n; i++) {
        const Unit *u = &b->place.unit[i];
        int compute = hardware_compute(h, u->name), engine = hardware_transfer(h, u->name);
        if (compute >= 0) {
            if (!enter_unit(h, t, b, u, compute, value, out, diags)) return false;
        } else if (engine >= 0) {
            out->engine = engine;
        } else if (hardware_memory(h, u->name) < 0) {
            diag_report(diags, tree_range(t, &b->node), DIAG_SIM_UNIT, u->name, "unit", h->name);
            return false;
        }
    }
    return true;
}

// --- Buffers -------------------------------------------------------------------------------------

int buffer_memory(const Hardware *h, const Buffer *b) {
    for (int i = 0; i < b->place.n; i++) {
        int m = hardware_memory(h, b->place.unit[i].name);
        if (m >= 0) return m;
    }
    return b->place.n ? -1 : hardware_outermost(h);
}

int64_t sim_copies(const Hardware *h, int memory) {
    return min_i64(hardware_copies(h, memory), SIM_MOST_COPIES);
}

int64_t buffer_copy(const Hardware *h, const Buffer *b, int memory, Where w, const int64_t *value) {
    int owner = hardware_owner(h, memory);
    int64_t inside = w.compute >= 0 ? hardware_inside(h, w.compute, owner) : 0, copy = -1;
    if (owner < 0 || hardware_copies(h, memory) == 1) return 0;
    if (inside) return w.number / inside;
    for (int i = 0; i < b->place.n; i++) {
        const Unit *u = &b->place.unit[i];
        if (u->n && hardware_memory(h, u->name) == memory)
            affine_eval(u->at[0], value, NULL, NULL, NULL, &copy);
    }
    return copy;
}
