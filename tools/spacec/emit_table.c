// Rules about the three pairs of three objects (transitivity, nesting) folded into one table.
//
// For objects a, b, c let x, y, z be the values of one (anti)symmetric choice for (a,b), (b,c),
// (a,c). All rules that speak of nothing else, taken for every way to name the objects, allow some
// triples (x, y, z). The table gives for sets of x and of y the z that some allowed triple has. So
// one look-up does what the rules do one by one, and more: it sees what follows from several of
// them.
#include "spacec.h"

enum { TABLE_VALUES = 6 };

static bool folds(const Spec *s, const Rule *r, int *choice) {
    *choice = -1;
    if (r->scope.n != 3) return false;
    for (int i = 0; i < r->atom.n; i++) {
        const Atom *a = &r->atom.at[i];
        if (a->kind != ATOM_ENUM || (*choice >= 0 && *choice != a->left.choice)) return false;
        if (a->left.arg[0] == a->left.arg[1]) return false;
        *choice = a->left.choice;
    }
    if (*choice < 0) return false;
    const Choice *c = &s->choice.at[*choice];
    if (!c->symmetric || c->value.n > TABLE_VALUES) return false;
    for (int v = 0; v < 3; v++)
        if (r->scope.var[v].set.set != c->scope.var[0].set.set || r->scope.var[v].set.param >= 0)
            return false;
    return true;
}

void find_tables(Spec *s) {
    for (int i = 0; i < s->rule.n; i++) {
        int choice;
        s->rule.at[i].table = folds(s, &s->rule.at[i], &choice) ? choice : -1;
    }
}

// The value for positions (p, q), given those for (0,1), (1,2), (0,2).
static int value_of(const Choice *c, int p, int q, int x, int y, int z) {
    int lo = p < q ? p : q, hi = p + q - lo;
    int v = lo == 0 && hi == 1 ? x : lo == 1 ? y : z;
    return p < q ? v : c->inverse[v];
}

static bool allows(const Choice *c, const Rule *r, int x, int y, int z) {
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int k = 0; k < 6; k++) {
        bool holds = false;
        for (int i = 0; i < r->atom.n; i++) {
            const Atom *a = &r->atom.at[i];
            int v = value_of(c, order[k][a->left.arg[0]], order[k][a->left.arg[1]], x, y, z);
            holds |= (a->mask >> v & 1) != 0;
        }
        if (!holds) return false;
    }
    return true;
}

static unsigned allowed(const Spec *s, int choice, int only, int x, int y) {
    const Choice *c = &s->choice.at[choice];
    unsigned mask = 0;
    for (int z = 0; z < c->value.n; z++) {
        bool all = true;
        for (int i = 0; i < s->rule.n; i++)
            if (s->rule.at[i].table == choice && (only < 0 || only == i))
                all &= allows(c, &s->rule.at[i], x, y, z);
        if (all) mask |= 1u << z;
    }
    return mask;
}

static void emit_table(Emit *e, int choice) {
    const Choice *c = &e->spec->choice.at[choice];
    int n = c->value.n, full = 1 << n;
    text_printf(e->out, "static const uint8_t %s_table[%d][%d] = {", c->name, full, full);
    for (int x = 0; x < full; x++) {
        text_add(e->out, "\n    {");
        for (int y = 0; y < full; y++) {
            unsigned mask = 0;
            for (int i = 0; i < n; i++)
                for (int k = 0; k < n; k++)
                    if ((x >> i & 1) && (y >> k & 1)) mask |= allowed(e->spec, choice, -1, i, k);
            text_printf(e->out, "%u,", mask);
        }
        text_add(e->out, "},");
    }
    text_add(e->out, "\n};\n");
}

// Which rule removed a value, when somebody asks.
static void emit_blame(Emit *e, int choice) {
    const Choice *c = &e->spec->choice.at[choice];
    int n = c->value.n;
    text_printf(e->out, "static const struct { int rule; uint8_t z[%d][%d]; } %s_each[] = {\n", n,
                n, c->name);
    for (int i = 0; i < e->spec->rule.n; i++) {
        if (e->spec->rule.at[i].table != choice) continue;
        text_printf(e->out, "    {%d, {", i);
        for (int x = 0; x < n; x++) {
            text_add(e->out, "{");
            for (int y = 0; y < n; y++)
                text_printf(e->out, "%u,", allowed(e->spec, choice, i, x, y));
            text_add(e->out, "},");
        }
        text_add(e->out, "}},\n");
    }
    text_printf(e->out,
                "};\n"
                "static int %s_blame(uint8_t x, uint8_t y, uint8_t gone) {\n"
                "    for (size_t k = 0; k < sizeof %s_each / sizeof *%s_each; k++) {\n"
                "        uint8_t z = 0;\n"
                "        for (int i = 0; i < %d; i++)\n"
                "            for (int j = 0; j < %d; j++)\n"
                "                if ((x >> i & 1) && (y >> j & 1)) z |= %s_each[k].z[i][j];\n"
                "        if (gone & ~z) return %s_each[k].rule;\n"
                "    }\n"
                "    return %s_each[0].rule;\n"
                "}\n",
                c->name, c->name, c->name, n, n, c->name, c->name, c->name);
}

// What follows for every third object when the pair (a, b) has changed.
static void emit_triangles(Emit *e, int choice) {
    const Choice *c = &e->spec->choice.at[choice];
    const char *n = c->name;
    int set = set_plain(e->spec, c->scope.var[0].set.set);
    text_printf(
        e->out,
        "static void %s_triangles(SpaceWork *w, int a, int b) {\n"
        "    const Space *s = w->s;\n"
        "    const ObjectSet *all = &s->set[%d];\n"
        "    uint8_t *dom = w->v + s->offset[%d];\n"
        "    int ra = all->rank[a], rb = all->rank[b], base = s->base[%d];\n"
        "    uint8_t ab = %s_get(w, a, b), ba = %s_flip[ab];\n"
        "    const uint8_t *from_a = %s_table[ab], *from_b = %s_table[ba];\n"
        "    int row_a = ra * (ra - 1) / 2, row_b = rb * (rb - 1) / 2;\n"
        "    for (int k = 0; k < all->n; k++) {\n"
        "        int row = k * (k - 1) / 2;\n"
        "        if (k == ra || k == rb) continue;\n"
        "        int ia = k < ra ? row_a + k : row + ra, ib = k < rb ? row_b + k : row + rb;\n"
        "        uint8_t ac = k < ra ? dom[ia] : %s_flip[dom[ia]];\n"
        "        uint8_t bc = k < rb ? dom[ib] : %s_flip[dom[ib]];\n"
        "        uint8_t na = ac & from_a[bc], nb = bc & from_b[ac];\n"
        "        if (na == ac && nb == bc) continue;\n"
        "        int c = all->item[k];\n"
        "        if (!eng_exists(w, c)) continue;\n"
        "        if (w->trace)\n"
        "            ENG_WHY(w, na != ac ? %s_blame(ab, bc, (uint8_t)(ac & ~na))\n"
        "                                : %s_blame(ba, ac, (uint8_t)(bc & ~nb)), a, b, c, -2);\n"
        "        eng_keep8(w, base + ia, &dom[ia], k < ra ? na : %s_flip[na]);\n"
        "        if (w->trace) w->why[0] = %s_blame(ba, ac, (uint8_t)(bc & ~nb));\n"
        "        eng_keep8(w, base + ib, &dom[ib], k < rb ? nb : %s_flip[nb]);\n"
        "    }\n"
        "}\n",
        n, set, choice, choice, n, n, n, n, n, n, n, n, n, n, n);
}

void emit_tables(Emit *e) {
    for (int c = 0; c < e->spec->choice.n; c++) {
        bool any = false;
        for (int i = 0; i < e->spec->rule.n; i++) any |= e->spec->rule.at[i].table == c;
        if (!any) continue;
        emit_table(e, c);
        emit_blame(e, c);
        emit_triangles(e, c);
    }
}
