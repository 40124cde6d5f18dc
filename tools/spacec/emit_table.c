// Combines rules about the three pairs of three objects (transitivity, nesting) into one table.
//
// For objects a, b, c let x, y, z be the values of one (anti)symmetric choice for (a,b), (b,c),
// (a,c). All rules that involve nothing else, for every assignment of the objects, allow some
// triples (x, y, z). The table maps sets of x and of y to the z of the allowed triples. So one
// lookup replaces all these rules, and also finds consequences of several of them together.
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

// Whether a pair whose value is one of `x` constrains any third object.
static bool tells(const Spec *s, int choice, int x) {
    const Choice *c = &s->choice.at[choice];
    unsigned all = (1u << c->value.n) - 1;
    for (int y = 0; y < c->value.n; y++) {
        unsigned here = 0, there = 0;
        for (int i = 0; i < c->value.n; i++)
            if (x >> i & 1) {
                here |= allowed(s, choice, -1, i, y);
                there |= allowed(s, choice, -1, c->inverse[i], y);
            }
        if (here != all || there != all) return true;
    }
    return false;
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
    text_printf(e->out, "\n};\nstatic const bool %s_tells[%d] = {", c->name, full);
    for (int x = 0; x < full; x++) text_printf(e->out, "%d,", tells(e->spec, choice, x));
    text_add(e->out, "};\n");
}

// Finds the rule that removed a value, for explanations.
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

// Propagates a change of the pair (a, b) to one third object, the k-th.
static void emit_third(Emit *e, const char *n, int set, int choice) {
    text_printf(
        e->out,
        "static void %s_third(SpaceWork *w, int a, int b, int k) {\n"
        "    const Space *s = w->s;\n"
        "    const ObjectSet *all = &s->set[%d];\n"
        "    uint8_t *dom = w->v + s->offset[%d];\n"
        "    int ra = all->rank[a], rb = all->rank[b], c = all->item[k], base = s->base[%d];\n"
        "    uint8_t ab = %s_get(w, a, b), ba = %s_flip[ab];\n"
        "    int ia = k < ra ? ra * (ra - 1) / 2 + k : k * (k - 1) / 2 + ra;\n"
        "    int ib = k < rb ? rb * (rb - 1) / 2 + k : k * (k - 1) / 2 + rb;\n"
        "    uint8_t ac = k < ra ? dom[ia] : %s_flip[dom[ia]];\n"
        "    uint8_t bc = k < rb ? dom[ib] : %s_flip[dom[ib]];\n"
        "    uint8_t na = ac & %s_table[ab][bc], nb = bc & %s_table[ba][ac];\n"
        "    if (w->trace)\n"
        "        ENG_WHY(w, na != ac ? %s_blame(ab, bc, (uint8_t)(ac & ~na))\n"
        "                            : %s_blame(ba, ac, (uint8_t)(bc & ~nb)), a, b, c, -2);\n"
        "    eng_keep8(w, base + ia, &dom[ia], k < ra ? na : %s_flip[na]);\n"
        "    if (w->trace) w->why[0] = %s_blame(ba, ac, (uint8_t)(bc & ~nb));\n"
        "    eng_keep8(w, base + ib, &dom[ib], k < rb ? nb : %s_flip[nb]);\n"
        "}\n",
        n, set, choice, choice, n, n, n, n, n, n, n, n, n, n, n);
}

// The same for all third objects. Most of the propagation time is spent here, on pairs without
// consequences, so these are tested first. Pairs are stored in rows by the greater rank of the two,
// and are mirrored if the third object has the greater rank.
static void emit_triangles(Emit *e, const char *n, int set, int choice) {
    text_printf(
        e->out,
        "static inline void %s_look(SpaceWork *w, int a, int b, int k, const uint8_t *from_a,\n"
        "                           const uint8_t *from_b, uint8_t ac, uint8_t bc) {\n"
        "    if (((ac & ~from_a[bc]) | (bc & ~from_b[ac])) && eng_exists(w, "
        "w->s->set[%d].item[k]))\n"
        "        %s_third(w, a, b, k);\n"
        "}\n"
        "static void %s_triangles(SpaceWork *w, int a, int b) {\n"
        "    const Space *s = w->s;\n"
        "    const ObjectSet *all = &s->set[%d];\n"
        "    const uint8_t *dom = w->v + s->offset[%d], *flip = %s_flip, *row;\n"
        "    uint8_t ab = %s_get(w, a, b);\n"
        "    int ra = all->rank[a], rb = all->rank[b], lo = ra < rb ? ra : rb, k;\n"
        "    const uint8_t *row_a = dom + ra * (ra - 1) / 2, *row_b = dom + rb * (rb - 1) / 2;\n"
        "    const uint8_t *fa = %s_table[ab], *fb = %s_table[flip[ab]];\n"
        "    if (!%s_tells[ab]) return;\n"
        "    for (k = 0; k < lo; k++) %s_look(w, a, b, k, fa, fb, row_a[k], row_b[k]);\n"
        "    for (k = lo + 1, row = dom + k * lo / 2; k < rb; row += k++)\n"
        "        %s_look(w, a, b, k, fa, fb, flip[row[ra]], row_b[k]);\n"
        "    for (; k < ra; row += k++) %s_look(w, a, b, k, fa, fb, row_a[k], flip[row[rb]]);\n"
        "    for (row += k++; k < all->n; row += k++)\n"
        "        %s_look(w, a, b, k, fa, fb, flip[row[ra]], flip[row[rb]]);\n"
        "}\n",
        n, set, n, n, set, choice, n, n, n, n, n, n, n, n, n);
}

void emit_tables(Emit *e) {
    for (int c = 0; c < e->spec->choice.n; c++) {
        bool any = false;
        for (int i = 0; i < e->spec->rule.n; i++) any |= e->spec->rule.at[i].table == c;
        if (!any) continue;
        emit_table(e, c);
        emit_blame(e, c);
        const char *name = e->spec->choice.at[c].name;
        int set = set_plain(e->spec, e->spec->choice.at[c].scope.var[0].set.set);
        emit_third(e, name, set, c);
        emit_triangles(e, name, set, c);
    }
}
