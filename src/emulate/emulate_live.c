// Estimates the number of registers that an assembler allocates for a kernel.
//
// Instructions run in the order of the text, so a register is live from its first definition to its
// last use. A register that a loop uses but that was defined before the loop is live until the loop
// ends. Registers of 64 bits count twice, predicates not at all.
#include "emulate/impl.h"

typedef struct Life {
    int from, to; // instructions; from -1: never defined
    uint8_t words;
} Life;

static void see(Life *life, const EmuOperand *o, int pc) {
    if (o->constant || o->id == 0) return;
    Life *l = &life[o->id];
    if (l->from < 0) l->from = pc;
    l->to = pc;
    l->words = o->bits == 1 ? 0 : o->bits == 64 ? 2 : 1;
}

static void see_code(const Entry *e, Life *life) {
    for (int pc = 0; pc < e->ncode; pc++) {
        const Ins *i = &e->code[pc];
        if (i->guard.bits) see(life, &i->guard, pc);
        for (int k = 0; k < i->nsrc; k++) see(life, &i->src[k], pc);
        for (int k = 0; k < i->ndst; k++) see(life, &i->dst[k], pc);
    }
}

// Visits backward branches, inner loops first: the end of an outer loop comes later in the text.
static void see_loops(const Entry *e, Life *life) {
    for (int pc = 0; pc < e->ncode; pc++) {
        const Ins *i = &e->code[pc];
        if (i->run != emu_do_branch || i->offset > pc) continue;
        for (int r = 1; r < e->nregs; r++)
            if (life[r].from >= 0 && life[r].from < i->offset && life[r].to >= i->offset &&
                life[r].to < pc)
                life[r].to = pc;
    }
}

// The registers per thread that the launch bounds allow; an assembler spills the rest.
static int allowed(const EmuEntry *e) {
    enum { MOST = 255, PROCESSOR = 65536 };
    int threads = e->min_blocks > 0 && e->max_threads > 0 ? e->min_blocks * e->max_threads : 1;
    return PROCESSOR / threads < MOST ? PROCESSOR / threads : MOST;
}

int emu_live_registers(Arena *scratch, const Entry *e) {
    Life *life = arena_new_n(scratch, Life, e->nregs + 1);
    int *change = arena_new_n(scratch, int, e->ncode + 2), now = 0, most = 0;
    for (int r = 0; r <= e->nregs; r++) life[r].from = -1;
    see_code(e, life);
    see_loops(e, life);
    for (int r = 1; r < e->nregs; r++) {
        if (life[r].from < 0) continue;
        change[life[r].from] += life[r].words;
        // The instruction of its last use may define another one.
        change[life[r].to] -= life[r].words;
    }
    for (int pc = 0; pc < e->ncode; pc++) {
        now += change[pc];
        if (now > most) most = now;
    }
    int limit = allowed(&e->info);
    return most < limit ? most : limit;
}
