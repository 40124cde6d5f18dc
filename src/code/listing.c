// Listings: see listing.h.
#include "code/listing.h"

#include <string.h>

int code_line(const Code *code, uint32_t offset) {
    int line = 0;
    for (int i = 0; i < code->nlines && code->lines[i].offset <= offset; i++)
        line = code->lines[i].line;
    return line;
}

// --- Text ----------------------------------------------------------------------------------------

typedef struct ListingPrinter {
    Text *out;
    const Code *code;
    const Listing *listing;
    const char **line; // of the Tree's text, from 1
    int nlines, last;  // last: the line printed last
    int next;          // row of the line table
    const ListingStyle *style;
    int32_t *label_at; // by offset: 1 + number of the label at that offset
} ListingPrinter;

static void split_lines(ListingPrinter *p, const char *text) {
    VEC(const char *) lines = {0};
    Arena *arena = p->listing->arena;
    vec_push(arena, &lines, "");
    for (const char *c = text, *end; c && *c; c = end + (*end == '\n')) {
        end = strchr(c, '\n');
        if (!end) end = c + strlen(c);
        vec_push(arena, &lines, arena_strndup(arena, c, (size_t)(end - c)));
    }
    p->line = lines.at;
    p->nlines = lines.n;
}

// Prints what begins at this offset: a line of the Tree, a label.
static void announce(ListingPrinter *p, uint32_t offset) {
    const Code *c = p->code;
    int line = p->last;
    for (; p->next < c->nlines && c->lines[p->next].offset <= offset; p->next++)
        line = c->lines[p->next].line;
    if (line != p->last && line > 0 && line < p->nlines)
        text_printf(p->out, "# %3d | %s\n", line, p->line[line]);
    else if (line != p->last && p->nlines > 1)
        text_add(p->out, "#     | (of the function, not of a line)\n");
    p->last = line;
    for (int i = 0; i < p->style->nsymbols; i++)
        if (p->style->symbols[i].offset == offset)
            text_printf(p->out, "%s:\n", p->style->symbols[i].name);
    int32_t label = p->label_at[offset];
    if (label) text_printf(p->out, "%s%d:\n", p->style->stem, label - 1);
}

static void print_bytes(ListingPrinter *p, uint32_t from, uint32_t to) {
    while (from < to) {
        announce(p, from);
        text_add(p->out, "        .byte ");
        uint32_t n = 0;
        do {
            text_printf(p->out, "%s0x%02x", n ? ", " : "", p->code->bytes[from++]);
        } while (++n < 16 && from < to && !p->label_at[from]);
        text_char(p->out, '\n');
    }
}

// The encoder numbers labels in the order of creation. Here they are numbered by offset, and labels
// at one offset are the same.
static void print_insn(ListingPrinter *p, const ListedInsn *in) {
    announce(p, in->offset);
    text_add(p->out, "        ");
    if (p->style->exact && in->jump && in->size > 4 && in->label >= 0)
        text_add(p->out, "{disp32} ");
    const char *text = in->text, *at = strrchr(text, 'L');
    if (in->label >= 0 && at) {
        text_add_n(p->out, text, (size_t)(at - text));
        text_printf(p->out, "%s%d", p->style->stem, p->label_at[in->target] - 1);
        text = at + 1 + strspn(at + 1, "0123456789");
    }
    text_add(p->out, text);
    text_char(p->out, '\n');
}

static void number_labels(ListingPrinter *p) {
    const Listing *l = p->listing;
    p->label_at = arena_new_n(l->arena, int32_t, p->code->size + 1);
    for (int i = 0; i < l->insns.n; i++)
        if (l->insns.at[i].label >= 0) p->label_at[l->insns.at[i].target] = 1;
    int32_t n = 0;
    for (size_t at = 0; at <= p->code->size; at++)
        if (p->label_at[at]) p->label_at[at] = ++n;
}

void listing_print(Text *out, const Code *code, const Listing *listing, const char *tree_text,
                   const ListingStyle *style) {
    ListingPrinter p = {.out = out, .code = code, .listing = listing, .style = style};
    split_lines(&p, tree_text);
    number_labels(&p);
    uint32_t at = 0;
    for (int i = 0; i < listing->insns.n; i++) {
        const ListedInsn *in = &listing->insns.at[i];
        print_bytes(&p, at, in->offset);
        print_insn(&p, in);
        at = in->offset + in->size;
    }
    print_bytes(&p, at, (uint32_t)code->size);
}

// --- Loops ---------------------------------------------------------------------------------------

// Multiply-adds per register, or -1 if something else in the loop writes it: then its sum does not
// continue across iterations.
static void count_sums(ListedLoop *loop, const ListedInsn *in, int *sums) {
    if (in->writes >= 0) sums[in->writes] = -1;
    if (in->sum >= 0 && sums[in->sum] >= 0) sums[in->sum]++;
    for (int u = 0; u < PORT_COUNT; u++)
        if (in->units >> u & 1) loop->count[u]++;
}

// The least cycles of the instructions between two offsets, and the reason.
static ListedLoop weigh(const Code *code, const Listing *l, const Machine *m, uint32_t from,
                        uint32_t to) {
    ListedLoop loop = {.from = from, .to = to, .binds = PORT_ISSUE};
    int sums[64] = {0};
    const ListedInsn *last = NULL;
    for (int i = 0; i < l->insns.n; i++) {
        const ListedInsn *in = &l->insns.at[i];
        if (in->offset < from || in->offset >= to) continue;
        count_sums(&loop, in, sums);
        last = in;
    }
    for (int i = 0; i < (int)(sizeof sums / sizeof *sums); i++) {
        if (sums[i] > 0) loop.sums++;
        if (sums[i] > loop.chain) loop.chain = sums[i];
    }
    if (last && last->jump) loop.line = code_line(code, last->offset);
    for (int u = 0; u < PORT_COUNT; u++) {
        double cycles = m->ports[u] ? (double)loop.count[u] / m->ports[u] : 0;
        if (cycles <= loop.cycles) continue;
        loop.cycles = cycles;
        loop.binds = u;
    }
    double latency = (double)loop.chain * m->fma_latency;
    if (last && last->jump && latency > loop.cycles) {
        loop.cycles = latency;
        loop.binds = PORT_COUNT;
    }
    return loop;
}

// A jump back closes a loop, unless it belongs to no line of the Tree. The loop is innermost if it
// contains no other jump back.
void listing_loops(const Code *code, const Listing *l, const Machine *m, ListedLoops *out) {
    uint32_t covered = 0; // end of the last loop found
    for (int i = 0; i < l->insns.n; i++) {
        const ListedInsn *in = &l->insns.at[i];
        bool back = in->jump && in->label >= 0 && in->target <= (int32_t)in->offset;
        if (!back || (uint32_t)in->target < covered || !code_line(code, in->offset)) continue;
        covered = in->offset + in->size;
        vec_push(l->arena, out, weigh(code, l, m, (uint32_t)in->target, covered));
    }
    if (!out->n && l->insns.n) {
        const ListedInsn *end = &l->insns.at[l->insns.n - 1];
        vec_push(l->arena, out, weigh(code, l, m, 0, end->offset + end->size));
    }
}
