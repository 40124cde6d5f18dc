// How the units of a machine contain each other: how many there are, which memory each works on,
// and which memories exist once per compute unit.
//
//     compute CLUSTER in=L2 own=yes count=2          two clusters, each with an L2 of its own
//     compute PE of=CLUSTER in=PAD own=yes count=4   8 PEs, each with a PAD of its own
//     transfer DMA of=CLUSTER from=DRAM to=L2        2 engines
//
// A copy of a memory, or an engine of a unit, has the number of that unit, counted over all units
// of the kind.
#include "passes/hardware_impl.h"

#include "base/checked.h"

int64_t hardware_units(const Hardware *h, int compute) {
    int64_t n = 1;
    for (int u = compute; u >= 0; u = (int)h->compute.at[u].of)
        if (!checked_mul(n, h->compute.at[u].count, &n)) return INT64_MAX;
    return n;
}

int64_t hardware_inside(const Hardware *h, int compute, int around) {
    int64_t n = 1;
    for (int u = compute; u >= 0; u = (int)h->compute.at[u].of) {
        if (u == around) return n;
        if (!checked_mul(n, h->compute.at[u].count, &n)) return 0;
    }
    return 0;
}

int hardware_works_on(const Hardware *h, int compute) {
    for (int u = compute; u >= 0; u = (int)h->compute.at[u].of)
        if (h->compute.at[u].in >= 0) return (int)h->compute.at[u].in;
    return -1;
}

int hardware_outermost(const Hardware *h) {
    for (int i = 0; i < h->memory.n; i++)
        if (h->memory.at[i].in < 0) return i;
    return -1;
}

int hardware_owner(const Hardware *h, int memory) {
    for (int m = memory; m >= 0; m = (int)h->memory.at[m].in)
        for (int u = 0; u < h->compute.n; u++)
            if (h->compute.at[u].own && h->compute.at[u].in == m) return u;
    return -1;
}

int64_t hardware_copies(const Hardware *h, int memory) {
    int owner = hardware_owner(h, memory);
    return owner < 0 ? 1 : hardware_units(h, owner);
}

bool hardware_together(const Hardware *h, int a, int64_t m, int b, int64_t n) {
    int64_t in_b = hardware_inside(h, a, b), in_a = hardware_inside(h, b, a);
    if (in_b) return m / in_b == n;
    return in_a && n / in_a == m;
}

// --- Consistency ---------------------------------------------------------------------------------

static const char *memory_name(const Hardware *h, int64_t i) { return h->memory.at[i].name; }

// Reports a unit whose memory belongs to units that it is not inside of.
static bool reaches_its_memory(const Hardware *h, int unit, Range at, DiagList *diags) {
    int memory = hardware_works_on(h, unit), owner = memory < 0 ? -1 : hardware_owner(h, memory);
    if (owner < 0 || hardware_inside(h, unit, owner)) return true;
    diag_report(diags, at, DIAG_HARDWARE_APART, h->compute.at[unit].name, memory_name(h, memory),
                h->compute.at[owner].name, h->compute.at[owner].name);
    return false;
}

// Reports a unit whose memory is filled from one of units that it is not inside of.
static bool is_filled(const Hardware *h, int unit, Range at, DiagList *diags) {
    int64_t from = h->memory.at[h->compute.at[unit].in].in;
    int owner = hardware_owner(h, (int)from);
    if (owner < 0 || hardware_inside(h, unit, owner)) return true;
    diag_report(diags, at, DIAG_HARDWARE_APART, h->compute.at[unit].name, memory_name(h, from),
                h->compute.at[owner].name, h->compute.at[owner].name);
    return false;
}

static bool owns_alone(const Hardware *h, int unit, Range at, DiagList *diags) {
    const ComputeUnit *u = &h->compute.at[unit];
    if (u->in < 0 || h->memory.at[u->in].in < 0) {
        diag_report(diags, at, DIAG_HARDWARE_NEEDS, u->name,
                    "in= a memory that is filled from another one, for own=yes");
        return false;
    }
    for (int i = 0; i < unit; i++)
        if (h->compute.at[i].own && h->compute.at[i].in == u->in) {
            diag_report(diags, at, DIAG_HARDWARE_OWNERS, h->compute.at[i].name, u->name,
                        memory_name(h, u->in));
            return false;
        }
    return true;
}

bool hardware_owners_are_good(const Hardware *h, Range at, DiagList *diags) {
    for (int i = 0; i < h->compute.n; i++)
        if (h->compute.at[i].own && !(owns_alone(h, i, at, diags) && is_filled(h, i, at, diags)))
            return false;
    for (int i = 0; i < h->compute.n; i++)
        if (!reaches_its_memory(h, i, at, diags)) return false;
    return true;
}
