// Range inference: the cases of the papers and of the old implementation, diagnostics, and
// agreement with enumeration on random programs.
//
// Programs are written in a small notation of their own, so that inference is tested by itself:
//
//     A(N,10) s | O(i,j) = A(i,2*j+k) B(s*i) where k in 0:3 ; P(i) = ...
//
// declares inputs (and scalar parameters) before the bar; a statement lists its reads. [A(i)] is a
// guarded read, <A(i)> a padded one. Result sizes are declared in front as well, after `->`.
#include "check.h"

#include "base/checked.h"
#include "program/infer.h"

#include <ctype.h>

typedef struct Test {
    Arena arena;
    Names names;
    Program *p;
    DiagList diags;
    Source source;
    VEC(InferStmt) infos;
    VEC(InferRead) reads; // of the statement being read
    VEC(Iter) iters;
    const char *s;
    ReadMode mode;
} Test;

static uint32_t at(Test *t) { return (uint32_t)(t->s - t->source.text); }

static void blank(Test *t) {
    while (*t->s == ' ' || *t->s == ',') t->s++;
}

static bool next_is(Test *t, const char *text) {
    while (*t->s == ' ') t->s++;
    if (strncmp(t->s, text, strlen(text)) != 0) return false;
    t->s += strlen(text);
    return true;
}

static Name word(Test *t) {
    blank(t);
    const char *from = t->s;
    while (isalnum((unsigned char)*t->s) || *t->s == '_') t->s++;
    return name_intern(&t->names, from, (size_t)(t->s - from));
}

static const Affine *sum(Test *t);
static const Access *access_of(Test *t, Name name);

static const Affine *variable(Test *t, Name name, Range range) {
    Exprs *x = t->p->exprs;
    int param = program_find_param(t->p, name);
    if (param >= 0) return affine_param(x, param);
    for (int i = 0; i < t->iters.n; i++)
        if (t->iters.at[i].name == name) return affine_iter(x, i);
    vec_push(&t->arena, &t->iters, ((Iter){.name = name, .range = range}));
    return affine_iter(x, t->iters.n - 1);
}

static const Affine *unit(Test *t) {
    Exprs *x = t->p->exprs;
    blank(t);
    if (isdigit((unsigned char)*t->s)) {
        char *end;
        int64_t v = strtoll(t->s, &end, 10);
        t->s = end;
        return affine_const(x, v);
    }
    if (next_is(t, "(")) {
        const Affine *a = sum(t);
        return next_is(t, ")") ? a : NULL;
    }
    if (next_is(t, "-")) return affine_scale(x, unit(t), -1);
    uint32_t from = at(t);
    Name name = word(t);
    bool min = !strcmp(name, "min");
    if (min || !strcmp(name, "max")) {
        t->s++;
        const Affine *a = sum(t), *b = (blank(t), sum(t));
        t->s++;
        return min ? affine_min(x, a, b) : affine_max(x, a, b);
    }
    if (*t->s == '(') return affine_read(x, access_of(t, name));
    return variable(t, name, (Range){from, at(t)});
}

static const Affine *product(Test *t) {
    Exprs *x = t->p->exprs;
    const Affine *a = unit(t);
    for (;;) {
        if (next_is(t, "*"))
            a = affine_mul(x, a, unit(t));
        else if (next_is(t, "/"))
            a = affine_div(x, a, unit(t));
        else if (next_is(t, "%"))
            a = affine_mod(x, a, unit(t));
        else
            return a;
    }
}

static const Affine *sum(Test *t) {
    Exprs *x = t->p->exprs;
    const Affine *a = product(t);
    for (;;) {
        while (*t->s == ' ') t->s++;
        if (*t->s == '+')
            t->s++, a = affine_add(x, a, product(t));
        else if (*t->s == '-')
            t->s++, a = affine_sub(x, a, product(t));
        else
            return a;
    }
}

// NAME(sub, ...); listed as a read of its own.
static const Access *access_of(Test *t, Name name) {
    const Affine *sub[PROGRAM_MAX_RANK];
    Range *subs = arena_new_n(&t->arena, Range, PROGRAM_MAX_RANK);
    int rank = 0;
    Range range = {at(t) - (uint32_t)strlen(name), 0};
    t->s++;
    while (blank(t), !next_is(t, ")")) {
        subs[rank].from = at(t);
        sub[rank] = sum(t);
        subs[rank++].to = at(t);
    }
    range.to = at(t);
    int tensor = program_find_tensor(t->p, name);
    if (tensor < 0) tensor = program_tensor(t->p, name, TYPE_F32, ROLE_OUTPUT, rank, NULL);
    const Access *a = access_make(t->p->exprs, tensor, rank, sub);
    vec_push(&t->arena, &t->reads,
             ((InferRead){.access = a, .mode = t->mode, .range = range, .subs = subs}));
    return a;
}

static void where(Test *t) {
    do {
        Name name = word(t);
        const Affine *v = variable(t, name, (Range){at(t) - 1, at(t)});
        next_is(t, "in");
        const Affine *lo = sum(t);
        next_is(t, ":");
        const Affine *hi = sum(t);
        Iter *it = &t->iters.at[affine_as_iter(v)];
        it->lo = lo;
        it->hi = hi;
        while (*t->s == ' ') t->s++;
    } while (*t->s == ',');
}

static void statement(Test *t) {
    t->iters.n = t->reads.n = 0;
    t->iters.at = NULL;
    t->reads.at = NULL;
    t->iters.cap = t->reads.cap = 0;
    t->mode = READ_PLAIN;
    blank(t);
    uint32_t from = at(t);
    Name name = word(t);
    const Access *write = *t->s == '(' ? access_of(t, name) : NULL;
    t->reads.n = write ? t->reads.n - 1 : 0; // the written element is the last one listed
    next_is(t, "=");
    while (!next_is(t, ";") && *t->s) {
        if (next_is(t, "where"))
            where(t);
        else if (next_is(t, "["))
            t->mode = READ_GUARDED;
        else if (next_is(t, "<"))
            t->mode = READ_PADDED;
        else if (next_is(t, "]") || next_is(t, ">"))
            t->mode = READ_PLAIN;
        else
            access_of(t, word(t));
    }
    Stmt *st = program_stmt(t->p, (Range){from, at(t)});
    st->write = write;
    st->niters = t->iters.n;
    st->iter = t->iters.at;
    vec_push(&t->arena, &t->infos, ((InferStmt){t->reads.n, t->reads.at}));
}

static void declarations(Test *t) {
    Role role = ROLE_INPUT;
    while (!next_is(t, "|")) {
        blank(t);
        if (next_is(t, "->")) role = ROLE_OUTPUT;
        Name name = word(t);
        if (*t->s != '(') {
            program_param(t->p, name, PARAM_SCALAR);
            continue;
        }
        const Affine *size[PROGRAM_MAX_RANK];
        int rank = 0;
        t->s++;
        while (blank(t), !next_is(t, ")")) {
            if (isalpha((unsigned char)*t->s)) {
                const char *back = t->s;
                Name param = word(t);
                t->s = back;
                program_param(t->p, param, PARAM_SIZE);
            }
            size[rank++] = sum(t);
        }
        program_tensor(t->p, name, TYPE_F32, role, rank, size);
    }
}

static void test_begin(Test *t, const char *text) {
    *t = (Test){.s = text};
    arena_init(&t->arena, &allocator_libc);
    t->names.arena = &t->arena;
    t->source = (Source){"test", text, (uint32_t)strlen(text)};
    t->diags = (DiagList){.arena = &t->arena, .source = &t->source};
    t->p = program_new(&t->arena, &t->names, "test", 4);
}

static bool test_infer(Test *t) {
    declarations(t);
    while (blank(t), *t->s) statement(t);
    return program_infer(t->p, t->infos.at, &t->diags);
}

static void print_affine(Test *t, Text *out, const Affine *a) {
    Name params[PROGRAM_MAX_PARAMS];
    for (int i = 0; i < t->p->params.n; i++) params[i] = t->p->params.at[i].name;
    affine_print(out, a, &(PrintNames){.params = params});
}

// "O[N - 4 @ 3, M]; N - 5 >= 0": every result with its size and origin (unless 0), and the
// Requires.
static const char *outcome(Test *t) {
    Text out = {.arena = &t->arena};
    for (int i = 0; i < t->p->tensors.n; i++) {
        const Tensor *tensor = &t->p->tensors.at[i];
        if (tensor->role == ROLE_INPUT) continue;
        text_printf(&out, "%s%s[", out.len ? " " : "", tensor->name);
        for (int d = 0; d < tensor->rank; d++) {
            if (d > 0) text_add(&out, ", ");
            print_affine(t, &out, tensor->size[d]);
            if (affine_is(tensor->origin[d], 0)) continue;
            text_add(&out, " @ ");
            print_affine(t, &out, tensor->origin[d]);
        }
        text_add(&out, "]");
    }
    for (int i = 0; i < t->p->requires.n; i++) {
        text_add(&out, "; ");
        print_affine(t, &out, t->p->requires.at[i].what);
        text_add(&out, " >= 0");
    }
    return text_str(&out);
}

typedef struct Row {
    const char *program, *want;
} Row;

static void check_rows(const Row *row, int n) {
    for (int i = 0; i < n; i++) {
        Test t;
        test_begin(&t, row[i].program);
        bool ok = test_infer(&t);
        if (ok != (t.diags.errors == 0) || !ok) {
            Text text = {.arena = &t.arena};
            for (int d = 0; d < t.diags.items.n; d++) diag_print(&text, t.diags.items.at[d]);
            CHECK_STR_EQ(text_str(&text), row[i].want);
        } else if (!CHECK_STR_EQ(outcome(&t), row[i].want)) {
            printf("  in %s\n", row[i].program);
        }
        arena_free(&t.arena);
    }
}

#define CHECK_ROWS(rows) check_rows(rows, (int)(sizeof(rows) / sizeof((rows)[0])))

static const Row paper[] = {
    {"A(M,K) x(K) | C(i) = A(i,k) x(k)", "C[M]"},
    {"A(M,K) x(K) | C(i) = ; C(i) = A(i,k) x(k)", "C[M]"},
    {"A(N,M) B(M,K) | C(i,j) = C(i,j); C(i,j) = A(i,k) B(k,j)", "C[N, K]"},
    {"I(B,I) W(O,I) b(O) | out(i,j) = b(j); out(b,o) = I(b,i) W(o,i); out(i,j) = out(i,j)",
     "out[B, O]"},
    {"in(B,IP,H,W) weight(OP,IP,KH,KW) | out(b,op,h,w) = in(b,ip,h+kh,w+kw) weight(op,ip,kh,kw)",
     "out[B, OP, H - KH + 1, W - KW + 1]; H - KH >= 0; W - KW >= 0"},
    {"in(B,C,H,W) | out(b,c,i,j) = in(b,c,2*i+kw,2*j+kh) where kw in 0:2, kh in 0:2",
     "out[B, C, H/2, W/2]; H - 2 >= 0; W - 2 >= 0"},
    {"X(N) I(A,B) | Z(i,j) = X(I(i,j))", "Z[A, B]"},
    {"sh sw I(N,C,H,W) W(F,C,KH,KW) B(F) | O(n,f,h,w) = B(f);"
     "O(n,f,h,w) = I(n,c,sh*h+kh,sw*w+kw) W(f,c,kh,kw)",
     "O[N, F, (H - KH)/sh + 1, (W - KW)/sw + 1]; sh - 1 >= 0; sw - 1 >= 0; H - KH >= 0; W - KW >= "
     "0"},
    {"I(M) K(N) | O(i) = K(x) I(i+x)", "O[M - N + 1]; M - N >= 0"},
    {"A(P,Q,R) B(S,R,T) | O(p,s,q,t) = A(p,q,r) B(s,r,t)", "O[P, S, Q, T]"},
    {"L(E,D) I(B,K) M(E2,D) J(B,K2) | O(b,d) = L(I(b,k),d); P(b,d) = M(J(b,k),d)",
     "O[B, D] P[B, D]"},
};

TEST(infer_paper) { CHECK_ROWS(paper); }

static const Row upstream[] = {
    // of the notes' tables 2.2 and 2.4
    {"I(N) | O(i) = I(i)", "O[N]"},
    {"I(N0,N1) | O(i,j) = I(j,i)", "O[N1, N0]"},
    {"I(N) | O(i) = I(123*i)", "O[(N + 122)/123]"},
    {"I(N) | O(i) = I(i-1)", "O[N @ 1]"},
    {"I(N) | O(i) = I(i+5)", "O[N - 5]; N - 6 >= 0"},
    {"dO(N,M,OH,OW) W(M,C,KH,KW) | dI(n,c,h,w) = dO(n,m,h-kh,w-kw) W(m,c,kh,kw)",
     "dI[N, C, OH - KH + 1 @ KH - 1, OW - KW + 1 @ KW - 1]; OH - KH >= 0; OW - KW >= 0"},
    {"dO(N,M,OH,OW) I(N,C,H,W) | dW(m,c,kh,kw) = dO(n,m,h-kh,w-kw) I(n,c,h,w)",
     "dW[M, C, 1, 1]; OH - H >= 0; OW - W >= 0"},
    {"I(N,C,H,W) W1(M,C,KH,KW) | pad(n,c,h,w) = I(n,c,h-5,w-7);"
     "tmp(n,m,h,w) = pad(n,c,2*h+kh,3*w+kw) W1(m,c,kh,kw)",
     "pad[N, C, H @ 5, W @ 7] tmp[N, M, (H - KH + 1)/2 @ 3, (W - KW + 1)/3 @ 3]; "
     "H - KH - 1 >= 0; W - KW - 2 >= 0"},
    {"in(B,I,H,W) wt(O,I,KH,KW) | out(b,op,h,w) = in(b,ip,2*h+3*w+kh,2*w+kw) wt(op,ip,kh,kw)",
     "out[B, O, (H - KH - 3*((W - KW)/2))/2 + 1, (W - KW)/2 + 1]; "
     "H - KH - 3*((W - KW)/2) >= 0; W - KW >= 0"},
    {"I(N0,N1,N2) | O(i) = I(j,i+j,k)", "O[N1 - N0 + 1]; N1 - N0 >= 0"},
    {"A(A0,A1,A2) B(B0,B1,B2) | O(j,k,l) = B(j,k,l) A(i,j,k)", "O[min(A1, B0), min(A2, B1), B2]"},
    {"I(N,M) | O(i,j) = I(i,j) where i in 3:N-1", "O[N - 4 @ 3, M]; N - 4 >= 0"},
    {"I(N,M) | O(i,j) = I(10+i-j,i+j) where i in 0:10",
     "O[10, min(11, M - 9) - max(0, 20 - N) @ max(0, 20 - N)]; "
     "M - 10 >= 0; N - 10 >= 0; N + M - 30 >= 0"},
    {"| O(i,j) = where i in 4:8, j in 3:20", "O[4 @ 4, 17 @ 3]"},
    {"I(10,19,10) | O(i,j) = I(i,i+j,j)", "O[10, 10]"},
    {"B(N) | A(i) = B(2*i) B(2*i+1)", "A[N/2]; N - 2 >= 0"},
    {"B(N) | A(i) = B(2*i+k) where k in 0:2", "A[N/2]; N - 2 >= 0"},
    {"B(I) | A(i) = B(10-i)", "A[min(11, I) @ max(0, 11 - I)]"},
    {"B(NB) C(NC) D(ND) | A(i,j) = B(i) C(i+j) D(j)", "A[NB, ND]; NC - NB - ND + 1 >= 0"},
    {"B(J) C(I) | A(i) = B(C(i))", "A[I]"},
    {"A(N) B(N2) | O(i) = A(i); O(i) = O(i) B(i)", "O[min(N, N2)]"},
    {"B(5) | A(i,j) = B(i) B(j+3)", "A[5, 2]"},
};

TEST(infer_upstream) { CHECK_ROWS(upstream); }
