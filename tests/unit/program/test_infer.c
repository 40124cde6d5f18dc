// Range inference: the cases of the papers and of the old implementation, diagnostics, and
// agreement with enumeration on random programs.
//
// Programs are written in a small separate notation, so that inference is tested in isolation:
//
//     A(N,10) s | O(i,j) = A(i,2*j+k) B(s*i) where k in 0:3 ; P(i) = ...
//
// declares inputs (and scalar parameters) before the bar; a statement lists its reads. [A(i)] is a
// guarded read, <A(i)> a padded one. Result sizes are declared before the bar too, after `->`.
#include "unit/check.h"

#include "base/checked.h"
#include "lang/lang.h"
#include "program/infer.h"

#include <ctype.h>

typedef struct Test {
    Arena arena;
    Names names;
    Program *p;
    DiagList diags;
    Source source;
    VEC(InferStmt) infos;
    VEC(InferRead) reads; // of the current statement
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

// NAME(sub, ...); listed as a read.
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

static void test_begin(Test *t, const char *text) { // and parses it
    *t = (Test){.s = text};
    arena_init(&t->arena, &allocator_libc);
    t->names.arena = &t->arena;
    t->source = (Source){"test", text, (uint32_t)strlen(text)};
    t->diags = (DiagList){.arena = &t->arena, .source = &t->source};
    t->p = program_new(&t->arena, &t->names, "test", 4);
    declarations(t);
    while (blank(t), *t->s) statement(t);
}

static bool test_infer(Test *t) {
    return program_infer(t->p, t->infos.at, (InferExtents){0}, &t->diags);
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
    for (int i = 0; i < t->p->preconditions.n; i++) {
        text_add(&out, "; ");
        print_affine(t, &out, t->p->preconditions.at[i].what);
        text_add(&out, t->p->preconditions.at[i].warn ? " >= 0?" : " >= 0");
    }
    return text_str(&out);
}

// "{location} text / {location} note / note": all diagnostics, each with the text it points at.
static const char *complaints(Test *t) {
    Text out = {.arena = &t->arena};
    for (int i = 0; i < t->diags.items.n; i++) {
        if (i > 0) text_add(&out, "\n");
        for (const Diag *d = t->diags.items.at[i], *n = d->notes; d; d = n, n = n ? n->next : n) {
            if (d->severity == SEVERITY_NOTE) text_add(&out, " / ");
            if (d->source) {
                text_char(&out, '{');
                text_add_n(&out, t->source.text + d->range.from, d->range.to - d->range.from);
                text_add(&out, "} ");
            }
            text_add(&out, d->text);
        }
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
        CHECK(ok == (t.diags.errors == 0));
        if (!CHECK_STR_EQ(ok ? outcome(&t) : complaints(&t), row[i].want))
            printf("  in %s\n", row[i].program);
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
    {"B(I) | A(i) = B(10-i)", "A[11 - max(0, 11 - I) @ max(0, 11 - I)]"},
    {"B(NB) C(NC) D(ND) | A(i,j) = B(i) C(i+j) D(j)", "A[NB, ND]; NC - NB - ND + 1 >= 0"},
    {"B(J) C(I) | A(i) = B(C(i))", "A[I]"},
    {"A(N) B(N2) | O(i) = A(i); O(i) = O(i) B(i)", "O[min(N, N2)]"},
    {"B(5) | A(i,j) = B(i) B(j+3)", "A[5, 2]"},
};

TEST(infer_upstream) { CHECK_ROWS(upstream); }

static const Row refused[] = {
    // of the notes' section 2.3 and further
    {"I(N,M) | O(i,j) = I(10+i-j,i+j)", "{10+i-j} cannot infer ranges for 'i' and 'j': subscript "
                                        "'10+i-j' of 'I' leaves more than one choice / "
                                        "give one of them a range, as in 'where i in 0:N'"},
    {"A(N,M,K) | O(i) = A(i+j,i+j,i+j)", "{i+j} cannot infer ranges for 'i' and 'j': subscript "
                                         "'i+j' of 'A' leaves more than one choice / "
                                         "give one of them a range, as in 'where j in 0:3'"},
    {"| O(i,j) =", "{i} cannot infer a range for 'i': no subscript bounds it / "
                   "give its range, as in 'where i in 0:10'\n"
                   "{j} cannot infer a range for 'j': no subscript bounds it / "
                   "give its range, as in 'where j in 0:10'"},
    {"B(N) S(1) | A(i) = B(S(0)*i)",
     "{S(0)*i} cannot infer a range for 'i': subscript 'S(0)*i' of 'B' does not limit it / "
     "give its range, as in 'where i in 0:N'"},
    {"I(N0,N1,N2,N3,N4) | O(i,j,k,l,m) = I(j,i,k,i,l)",
     "{m} cannot infer a range for 'm': no subscript bounds it / "
     "give its range, as in 'where m in 0:10'"},
    {"A(10) | O(i) = A(i) A(i+20)",
     "{i+20} inferred an empty range for 'i': 0 <= i < -10 cannot hold / "
     "{i} 'i' starts at 0 / "
     "{i+20} 'i' is below -10: subscript 'i+20' of 'A' stays below 10 / "
     "make the tensor larger, or guard the read and give the range with a 'where'"},
    {"A(10) B(3) | O(i) = A(i-5) B(i)",
     "{i} inferred an empty range for 'i': 5 <= i < 3 cannot hold / "
     "{i-5} 'i' is at least 5: subscript 'i-5' of 'A' is at least 0 / "
     "{i} 'i' is below 3: subscript 'i' of 'B' stays below 3 / "
     "make the tensor larger, or guard the read and give the range with a 'where'"},
    {"A(20) | O(i) = A(i+20)",
     "{i+20} inferred an empty range for 'i': 0 <= i < 0 cannot hold / "
     "{i} 'i' starts at 0 / "
     "{i+20} 'i' is below 0: subscript 'i+20' of 'A' stays below 20 / "
     "make the tensor larger, or guard the read and give the range with a 'where'"},
    {"A(N) | O(i) = A(i) A(i+N)",
     "{i+N} inferred an empty range for 'i': 0 <= i < 0 cannot hold / "
     "{i} 'i' starts at 0 / "
     "{i+N} 'i' is below 0: subscript 'i+N' of 'A' stays below N / "
     "make the tensor larger, or guard the read and give the range with a 'where'"},
    {"I(10,18,10) | O(i,j) = I(i,i+j,j)",
     "{i+j} subscript 'i+j' of 'I' reaches 18, outside its range 0:18 / "
     "{i} 'i' ranges over 0:10 / "
     "{j} 'j' ranges over 0:10 / "
     "give a smaller range with a 'where', or make 'I' larger"},
    {"A(10) | O(i) = A(i) where i in 0:20",
     "{i} subscript 'i' of 'A' reaches 19, outside its range 0:10 / "
     "{i} 'i' ranges over 0:20 / "
     "give a smaller range with a 'where', or make 'A' larger"},
    {"A(N) | O(i) = A(i) where i in 0:N+1",
     "{i} subscript 'i' of 'A' reaches N, outside its range 0:N / "
     "{i} 'i' ranges over 0:N + 1 / "
     "give a smaller range with a 'where', or make 'A' larger"},
    {"A(N) | O(i) = A(i) where i in 8:4", "{i} the range 8:4 of 'i' is empty / "
                                          "a range 'lo:hi' contains lo, lo + 1, ..., hi - 1"},
    {"A(N) | O(i) = A(k) A(i) where k in 0:i",
     "{k} the range 0:i of 'k' depends on more than sizes and constants / "
     "ranges are rectangular: give 'k' its largest range and guard the value with a ternary"},
    {"in(B,C,H,W) | out(b,c,i,j) = in(b,c,2*i+kw,2*j+kh)",
     "{2*i+kw} cannot infer ranges for 'i' and 'kw': subscript '2*i+kw' of 'in' leaves more than "
     "one choice / "
     "give one of them a range, as in 'where kw in 0:3'\n"
     "{2*j+kh} cannot infer ranges for 'j' and 'kh': subscript '2*j+kh' of 'in' leaves more than "
     "one choice / "
     "give one of them a range, as in 'where kh in 0:3'"},
    {"B(N) V(E) | H(B(i)) = V(i)",
     "{H(B(i)) = V(i)} cannot infer the size of dimension 0 of 'H' from the written subscript "
     "'B[i]' / "
     "declare the sizes of 'H' where it is named as a result, as in 'float(N) H'"},
    {"A(N) | O(i) = A(i%3)",
     "{i%3} cannot infer a range for 'i': subscript 'i%3' of 'A' does not limit it / "
     "give its range, as in 'where i in 0:N'"},
    {"A(N) | O(i) = <A(i-1)>", "{i} cannot infer a range for 'i': no subscript bounds it / "
                               "give its range, as in 'where i in 0:N'"},
    {"A(N) | T(i) = B(i,j); O(i) = T(i) A(i)", "'B' has no size and no definition"},
    {"A(9223372036854775807) | O(i) = A(i-9223372036854775807) ; P(i) = O(i-9223372036854775807)",
     "{O(i) = A(i-9223372036854775807) ;} a size does not fit in 64 bits, or its formula is too "
     "long"},
    {"A(N) | T(i) = A(i); U(i) = T(i); T(i) = U(i+1)",
     "{i+1} subscript 'i+1' of 'U' reaches N, outside its range 0:N / "
     "{i} 'i' ranges over 0:N / "
     "give a smaller range with a 'where', or make 'U' larger / "
     "or define the border: pad(U(...), 0), clamp(U(...)) or mirror(U(...))"},
    {"A(10) | O(i) = A(i); O(i) = A(i+10); O(i) = A(i+12)",
     "{i+12} inferred an empty range for 'i': 0 <= i < -2 cannot hold / "
     "{i} 'i' starts at 0 / "
     "{i+12} 'i' is below -2: subscript 'i+12' of 'A' stays below 10 / "
     "make the tensor larger, or guard the read and give the range with a 'where'"},
};

TEST(infer_refused) { CHECK_ROWS(refused); }

static const Row leftover[] = {
    {"I(N0,N1,N2) | O(i) = I(i,i+j,j)", "O[N0]; N1 - N0 - N2 + 1 >= 0"},
    {"I(N0,N1,N2,N3,N4) | O(i) = I(i,j,i,k,2*i+j)",
     "O[min(N0, N2)]; N4 - N1 - 2*min(N0, N2) + 2 >= 0"},
    {"I(N0,N1,N2,N3,N4) | O(i) = I(j,j+1,i,i+3,2*i+j)",
     "O[min(N2, N3 - 3)]; N3 - 4 >= 0; N1 - 2 >= 0; N4 - min(N0, N1 - 1) - 2*min(N2, N3 - 3) + 2 "
     ">= 0"},
    {"B(J) C(I) | A(i) = B(max(min(C(i),J-1),0))", "A[I]"},
    {"A(10) B(N) | O(i) = A(i) where i in 0:N", "O[N]; 10 - N >= 0"},
};

TEST(infer_leftover) { CHECK_ROWS(leftover); }

static const Row further[] = {
    // explicit ranges and hulls
    {"A(M,K) x(K) | C(i) = where i in 0:M ; C(i) = A(i,k) x(k)", "C[M]"},
    {"A(N) | P(i) = where i in 0:N+2; P(i) = A(i-1) where i in 1:N+1", "P[N + 2]"},
    {"A(N) | P(i) = where i in 0:10; P(i) = P(i)", "P[10]"},
    {"A(N) | P(i) = where i in 2:10; P(i) = A(i)", "P[max(10, N)]"},
    {"A(N,M) | T(i,j) = A(i,j); T(i,j) = T(i,k)", "T[N, M]"},
    {"A(N) B(M) -> O(N) | O(i) = A(i); O(i) = B(i)", "O[N]; N - M >= 0?; M - N >= 0"},
    {"B(N) -> H(M) | H(B(i)) =", "H[M]"},
    {"-> O(N) | O(i) =", "O[N]"},
    // circles
    {"A(N) | T(i) = A(i); U(i) = T(i); T(i) = T(i) U(i)", "T[N] U[N]"},
    {"A(N) B(M) | T(i) = A(i); T(i) = B(i); U(i) = T(i); T(i) = T(i) U(i)",
     "T[min(N, M)] U[min(N, M)]"},
    {"A(N) | U(i) = T(i); T(i) = A(i)", "U[N] T[N]"},
    {"I(N,D) | m(n) = I(n,d); E(n,d) = I(n,d) m(n); s(n) = E(n,d); O(n,d) = E(n,d) s(n)",
     "m[N] E[N, D] s[N] O[N, D]"},
    // guards and borders
    {"A(I,K) B(I,N) | O(i,j) = [A(i,j) B(i,j-K)] where j in 0:K+N", "O[I, K + N]"},
    {"I(H) W(K) | O(h) = <I(h+k-1)> W(k) where h in 0:H", "O[H]"},
    {"I(H,C) W(K,C) | O(h) = <I(h+k-1,c)> W(k,c) where h in 0:H", "O[H]"},
    {"I(H,C) W(K) | O(h,c) = <I(h,c)> W(k)", "O[H, C]"},
    // division and modulo, minimum and maximum
    {"A(N) | O(i) = A(i/2)", "O[2*N]"},
    {"A(N) | O(i) = A((i+1)/2)", "O[2*N - 1]"},
    {"A(N) | O(i) = A(i+i/2)", "O[(2*N + 2)/3]"},
    {"A(N) B(M) | O(i) = A(i/3) B(i%3)", "O[3*N]"},
    {"A(N) B(3) | O(i) = A(i/3) B(i%3)", "O[3*N]"},
    {"A(N) B(M) | O(i) = A(min(i,N-1)) B(i)", "O[M]"},
    {"A(N) | O(i) = A(max(i-1,0))", "O[N + 1]"},
    {"A(N) | O(i) = A(max(i,3))", "O[N]; N - 4 >= 0"},
    {"A(N) B(K) | O(i) = A(max(i,k)) B(k)", "O[N]; N - K >= 0"},
    {"A(N) s | O(i) = A(i/s)", "O[N*s]; s - 1 >= 0"},
    // coefficients
    {"A(N) | O(i) = A(N-1-i)", "O[N]"},
    {"A(N) B(K) | O(i) = A(K-1-k+i) B(k)", "O[N - K + 1]; N - K >= 0"},
    {"A(N) s t | O(i) = A(s*i+t)", "O[(N - t - 1)/s - max(0, -(t/s)) + 1 @ max(0, -(t/s))]; s - 1 "
                                   ">= 0; N - t - 1 >= 0; (N - t - 1)/s + t/s >= 0"},
    {"A(N) s | O(i) = A(2*i+s*i)", "O[(N - 1)/(s + 2) + 1]; s + 1 >= 0"},
    {"A(N) s | O(i) = A(s*i) where i in 0:10", "O[10]; s >= 0; N - 9*s - 1 >= 0"},
    {"A(N) B(M) s d | O(i) = A(s*i+d*k) B(k)",
     "O[(N + d - M*d - 1)/s + 1]; d - 1 >= 0; s - 1 >= 0; N + d - M*d - 1 >= 0"},
    {"A(N) | O(i) = A(2*i-i)", "O[N]"},
    {"A(N) | O() = A(i)", "O[]"},
    {"A(N) | O() = A(3)", "O[]; N - 4 >= 0"},
    {"A(2) | O() = A(3)", "{3} subscript '3' of 'A' reaches 3, outside its range 0:2 / "
                          "make 'A' larger, or choose another element"},
    {"A(N,M) | O(i) = A(i,i)", "O[min(N, M)]"},
    {"A(N) B(N) | O(i) = A(2*i) B(2*i)", "O[(N + 1)/2]"},
    {"A(0) | O(i) = A(i)", "O[0]"},
    {"A(0) | O(i) = A(i+1)",
     "{i+1} inferred an empty range for 'i': 0 <= i < -1 cannot hold / "
     "{i} 'i' starts at 0 / "
     "{i+1} 'i' is below -1: subscript 'i+1' of 'A' stays below 0 / "
     "make the tensor larger, or guard the read and give the range with a 'where'"},
    {"A(N) B(M) | T(i) = A(2*i); U(i) = T(i) B(i); V(i) = U(i+1) T(i)",
     "T[(N + 1)/2] U[min(M, (N + 1)/2)] V[min(M, (N + 1)/2) - 1]; M - (N + 1)/2 >= 0?; M - 2 >= 0; "
     "N - 3 >= 0"},
    {"A(N) | O(2*i) = A(i)", "O[2*N - 1]"},
    {"A(N) | O(2*i+k) = A(i) where k in 0:2", "O[2*N]"},
};

TEST(infer_further) { CHECK_ROWS(further); }

// Every diagnostic of inference is among those above.
static void mark_ids(const Row *row, int n, bool *seen) {
    for (int i = 0; i < n; i++) {
        Test t;
        test_begin(&t, row[i].program);
        test_infer(&t);
        for (int d = 0; d < t.diags.items.n; d++) {
            seen[t.diags.items.at[d]->id] = true;
            for (const Diag *k = t.diags.items.at[d]->notes; k; k = k->next) seen[k->id] = true;
        }
        arena_free(&t.arena);
    }
}

TEST(infer_reports_everything_it_can) {
    static const DiagId all[] = {
        DIAG_INFER_UNBOUNDED,   DIAG_INFER_NO_LIMIT,      DIAG_INFER_AMBIGUOUS,
        DIAG_INFER_WHERE,       DIAG_INFER_WHERE_ONE,     DIAG_INFER_EMPTY,
        DIAG_INFER_STARTS,      DIAG_INFER_AT_LEAST,      DIAG_INFER_BELOW,
        DIAG_INFER_EMPTY_OUT,   DIAG_INFER_OUTSIDE,       DIAG_INFER_RANGES,
        DIAG_INFER_OUTSIDE_OUT, DIAG_INFER_OUTSIDE_FIXED, DIAG_INFER_NOT_BOX,
        DIAG_INFER_NOT_BOX_OUT, DIAG_INFER_WHERE_EMPTY,   DIAG_INFER_WHERE_OUT,
        DIAG_INFER_SIZE,        DIAG_INFER_SIZE_OUT,      DIAG_INFER_UNDEFINED,
        DIAG_INFER_OVERFLOW,
    };
    bool seen[DIAG_COUNT] = {false};
    mark_ids(refused, (int)(sizeof refused / sizeof refused[0]), seen);
    mark_ids(further, (int)(sizeof further / sizeof further[0]), seen);
    for (int i = 0; i < (int)(sizeof all / sizeof all[0]); i++)
        if (!CHECK(seen[all[i]])) printf("  diagnostic %d\n", (int)all[i]);
}

// --- Agreement with enumeration ----------------------------------------------------------------
//
// The rule of infer.h by brute force, at concrete sizes: in each round the set of values of an
// iterator for which every constraint holds for all known iterators, found by enumeration.

enum { LIMIT = 200, MAX_STMTS = 4 }; // no range gets near LIMIT

typedef struct Brute {
    Test *t;
    const int64_t *params;
    int64_t lo[MAX_STMTS][PROGRAM_MAX_ITERS], hi[MAX_STMTS][PROGRAM_MAX_ITERS];
    uint32_t unknown[MAX_STMTS], given[MAX_STMTS];
    int64_t from[8][4], to[8][4]; // of tensors
    bool bad;                     // an empty range, or a read outside
    bool vacuous;                 // some `where` is empty: quantifiers over it are vacuous
} Brute;

static int64_t value(Brute *b, const Affine *a, const int64_t *iters) {
    int64_t v = 0;
    if (!affine_eval(a, iters, b->params, NULL, NULL, &v)) CHECK(!"overflow");
    return v;
}

static uint32_t iters_of(const Affine *a, int n) {
    uint32_t mask = 0;
    for (int i = 0; i < n; i++)
        if (affine_uses_iter(a, i)) mask |= UINT32_C(1) << i;
    return mask;
}

// Whether the subscript stays inside for all values of the iterators in `over`, with the others as
// in `at`.
static bool inside(Brute *b, int s, const InferRead *r, int d, uint32_t over, int64_t *at) {
    if (!over) {
        int64_t v = value(b, r->access->sub[d], at);
        return v >= b->from[r->access->tensor][d] && v < b->to[r->access->tensor][d];
    }
    int i = __builtin_ctz(over);
    for (at[i] = b->lo[s][i]; at[i] < b->hi[s][i]; at[i]++)
        if (!inside(b, s, r, d, over & (over - 1), at)) return false;
    return true;
}

static bool takes_part(const InferRead *r, int d) {
    return r->mode != READ_PADDED || affine_as_iter(r->access->sub[d]) >= 0;
}

// Values of v that satisfy every constraint on v alone; false if there is no such constraint.
static bool admitted(Brute *b, int s, int v, bool *ok) {
    const Stmt *st = &b->t->p->stmts.at[s];
    const InferStmt *info = &b->t->infos.at[s];
    bool any = false;
    for (int x = 0; x <= LIMIT; x++) ok[x] = true;
    for (int r = 0; r < info->nreads; r++)
        for (int d = 0; d < info->reads[r].access->rank; d++) {
            uint32_t used = iters_of(info->reads[r].access->sub[d], st->niters);
            if (!takes_part(&info->reads[r], d)) continue;
            if ((used & b->unknown[s]) != UINT32_C(1) << v) continue;
            any = true;
            for (int x = 0; x <= LIMIT; x++) {
                int64_t at[PROGRAM_MAX_ITERS] = {0};
                at[v] = x;
                uint32_t over = used & ~b->unknown[s];
                if (ok[x]) ok[x] = inside(b, s, &info->reads[r], d, over, at);
            }
        }
    return any;
}

static void brute_rounds(Brute *b, int s) {
    int n = b->t->p->stmts.at[s].niters;
    for (bool progress = true; progress && !b->bad;) {
        progress = false;
        uint32_t solved = 0;
        int64_t lo[PROGRAM_MAX_ITERS] = {0}, hi[PROGRAM_MAX_ITERS] = {0};
        for (int v = 0; v < n; v++) {
            bool ok[LIMIT + 1];
            if (!(b->unknown[s] >> v & 1) || !admitted(b, s, v, ok) || ok[LIMIT]) continue;
            int first = 0, last = LIMIT;
            while (first <= LIMIT && !ok[first]) first++;
            while (last >= 0 && !ok[last]) last--;
            if (first > last) b->bad = true;
            for (int x = first; x <= last; x++) CHECK(ok[x]);
            lo[v] = first;
            hi[v] = last + 1;
            solved |= UINT32_C(1) << v;
        }
        for (int v = 0; v < n; v++)
            if (solved >> v & 1) b->lo[s][v] = lo[v], b->hi[s][v] = hi[v], progress = true;
        b->unknown[s] &= ~solved;
    }
}

// The range that the definitions of t infer for dimension d.
static bool brute_position(Brute *b, int t, int d, int64_t *lo, int64_t *hi) {
    bool any = false;
    for (int s = 0; s < b->t->p->stmts.n; s++) {
        const Access *w = b->t->p->stmts.at[s].write;
        int v = w->tensor == t ? affine_as_iter(w->sub[d]) : -1;
        if (v < 0 || (b->unknown[s] | b->given[s]) >> v & 1) continue;
        *lo = any ? max_i64(*lo, b->lo[s][v]) : b->lo[s][v];
        *hi = any ? min_i64(*hi, b->hi[s][v]) : b->hi[s][v];
        any = true;
    }
    return any;
}

static bool brute_given(Brute *b, int t, int d, int64_t *lo, int64_t *hi) {
    bool any = false;
    for (int s = 0; s < b->t->p->stmts.n; s++) {
        const Access *w = b->t->p->stmts.at[s].write;
        int v = w->tensor == t ? affine_as_iter(w->sub[d]) : -1;
        if (v < 0 || !(b->given[s] >> v & 1)) continue;
        *lo = any ? min_i64(*lo, b->lo[s][v]) : b->lo[s][v];
        *hi = any ? max_i64(*hi, b->hi[s][v]) : b->hi[s][v];
        any = true;
    }
    return any;
}

static bool brute_adopt(Brute *b, int t) {
    bool progress = false;
    for (int d = 0; d < b->t->p->tensors.at[t].rank; d++) {
        int64_t lo, hi;
        if (!brute_position(b, t, d, &lo, &hi) && !brute_given(b, t, d, &lo, &hi)) continue;
        for (int s = 0; s < b->t->p->stmts.n; s++) {
            const Access *w = b->t->p->stmts.at[s].write;
            int v = w->tensor == t ? affine_as_iter(w->sub[d]) : -1;
            if (v < 0 || !(b->unknown[s] >> v & 1)) continue;
            b->lo[s][v] = lo;
            b->hi[s][v] = hi;
            b->unknown[s] &= ~(UINT32_C(1) << v);
            progress = true;
        }
    }
    return progress;
}

// All definitions of t; false if a range stays unknown.
static bool brute_tensor(Brute *b, int t) {
    Program *p = b->t->p;
    uint32_t open;
    do {
        open = 0;
        for (int s = 0; s < p->stmts.n && !b->bad; s++) {
            if (p->stmts.at[s].write->tensor != t) continue;
            brute_rounds(b, s);
            open |= b->unknown[s];
        }
    } while (!b->bad && open && brute_adopt(b, t));
    if (b->bad || open) return !open;
    for (int d = 0; d < p->tensors.at[t].rank; d++) {
        int64_t lo = 0, hi = 0, lo2, hi2;
        bool inferred = brute_position(b, t, d, &lo, &hi), given = brute_given(b, t, d, &lo2, &hi2);
        b->bad |= inferred && lo >= hi;
        for (int s = 0; s < p->stmts.n && inferred; s++) {
            int v = p->stmts.at[s].write->tensor == t ? affine_as_iter(p->stmts.at[s].write->sub[d])
                                                      : -1;
            if (v >= 0 && !(b->given[s] >> v & 1)) b->lo[s][v] = lo, b->hi[s][v] = hi;
        }
        b->from[t][d] = !given ? lo : inferred ? min_i64(lo, lo2) : lo2;
        b->to[t][d] = !given ? hi : inferred ? max_i64(hi, hi2) : hi2;
    }
    return true;
}

static void brute_leftovers(Brute *b, int s) {
    const InferStmt *info = &b->t->infos.at[s];
    int n = b->t->p->stmts.at[s].niters;
    for (int r = 0; r < info->nreads && !b->bad; r++)
        for (int d = 0; d < info->reads[r].access->rank; d++) {
            int64_t at[PROGRAM_MAX_ITERS] = {0};
            uint32_t over = iters_of(info->reads[r].access->sub[d], n);
            if (info->reads[r].mode == READ_PLAIN)
                b->bad |= !inside(b, s, &info->reads[r], d, over, at);
        }
}

// False when some range cannot be inferred.
static bool brute(Brute *b) {
    Program *p = b->t->p;
    for (int t = 0; t < p->tensors.n; t++)
        for (int d = 0; d < p->tensors.at[t].rank; d++)
            if (p->tensors.at[t].size[d]) b->to[t][d] = value(b, p->tensors.at[t].size[d], NULL);
    for (int s = 0; s < p->stmts.n; s++)
        for (int i = 0; i < p->stmts.at[s].niters; i++) {
            const Iter *it = &p->stmts.at[s].iter[i];
            uint32_t bit = UINT32_C(1) << i;
            *(it->hi ? &b->given[s] : &b->unknown[s]) |= bit;
            if (it->hi) b->lo[s][i] = value(b, it->lo, NULL), b->hi[s][i] = value(b, it->hi, NULL);
            if (it->hi && b->lo[s][i] > b->hi[s][i]) b->bad = true;
            if (it->hi && b->lo[s][i] == b->hi[s][i]) b->vacuous = true;
        }
    for (int t = 0; t < p->tensors.n && !b->bad; t++)
        if (!p->tensors.at[t].size[0] && !brute_tensor(b, t)) return false;
    for (int s = 0; s < p->stmts.n && !b->bad; s++) brute_leftovers(b, s);
    return true;
}

// A random program in the notation above. Some have divisions; then Requires may miss what bind
// finds.
static uint64_t below(uint64_t *seed, uint64_t n) { return check_random(seed) % n; }

static void random_sub(Text *out, uint64_t *seed, int *used, bool *divides) {
    static const char *const coef[] = {"", "", "", "", "2*", "3*", "-", "-2*", "s*"};
    int n = below(seed, 3) ? 1 : 1 + (int)below(seed, 3), mine = 0;
    bool bare = n == 1 && below(seed, 2), div = n < 3 && !bare && below(seed, 8) == 0;
    if (div) text_add(out, "("), *divides = true;
    if (!bare && below(seed, 4) == 0) text_printf(out, "%d+", (int)below(seed, 4));
    for (int k = 0; k < n; k++) {
        int i = (int)below(seed, 4);
        if (mine >> i & 1) continue;
        if (mine) text_add(out, "+");
        mine |= 1 << i;
        text_printf(out, "%s%c", bare ? "" : coef[below(seed, 9)], "ijkl"[i]);
    }
    *used |= mine;
    if (!bare && below(seed, 5) == 0) text_printf(out, "-%d", (int)below(seed, 4));
    if (div) text_printf(out, ")/%d", 2 + (int)below(seed, 2));
}

static void random_read(Text *out, uint64_t *seed, int nresults, int *used, bool *divides) {
    int mode = below(seed, 8) ? READ_PLAIN : 1 + (int)below(seed, 2);
    int tensor = (int)below(seed, (uint64_t)(3 + nresults));
    int rank = tensor == 0 ? 1 : 2;
    text_add(out, mode == READ_GUARDED ? " [" : mode == READ_PADDED ? " <" : " ");
    text_printf(out, tensor < 3 ? "%c(" : "T%d(", tensor < 3 ? "ABC"[tensor] : tensor - 3);
    for (int d = 0; d < rank; d++) {
        if (d) text_add(out, ",");
        random_sub(out, seed, used, divides);
    }
    text_add(out, mode == READ_GUARDED ? ")]" : mode == READ_PADDED ? ")>" : ")");
}

static void random_stmt(Text *out, uint64_t *seed, int result, bool *divides) {
    Text reads = {.arena = out->arena};
    int used = 0;
    for (int r = 1 + (int)below(seed, 3); r > 0; r--)
        random_read(&reads, seed, result, &used, divides);
    if (below(seed, 20) == 0) used = 15;
    int i = (int)below(seed, 4), j;
    while (!(used >> i & 1)) i = (i + 1) % 4;
    for (j = (i + 1) % 4; j != i && !(used >> j & 1);) j = (j + 1) % 4;
    if (j == i) j = (i + 1) % 4;
    text_printf(out, " T%d(%c,%c) =%s", result, "ijkl"[i], "ijkl"[j], text_str(&reads));
    for (int k = 0, n = 0; k < 4; k++) {
        if (below(seed, used >> k & 1 ? 6 : 30)) continue;
        int lo = (int)below(seed, 3);
        text_printf(out, "%s %c in %d:", n++ ? "," : " where", "ijkl"[k], lo);
        if (below(seed, 4))
            text_printf(out, "%d", lo + 1 + (int)below(seed, 4));
        else
            text_add(out, "K");
    }
    text_add(out, ";");
}

static const char *random_program(Arena *arena, uint64_t *seed, bool *divides) {
    Text out = {.arena = arena};
    bool seven = below(seed, 2), square = below(seed, 2);
    text_printf(&out, "A(%s) B(%s,M) C(K,%d) s |", seven ? "7" : "N", square ? "M" : "N",
                1 + (int)below(seed, 9));
    int nstmts = below(seed, 3) ? 1 : 2 + (int)below(seed, 2), nresults = 0;
    for (int s = 0; s < nstmts; s++) {
        bool again = nresults > 0 && below(seed, 2);
        if (!again) nresults++;
        random_stmt(&out, seed, nresults - 1, divides);
    }
    return text_str(&out);
}

typedef struct Tally {
    int64_t agreed, failed, unsolved, vacuous;
} Tally;

static void compare(Test *t, Brute *b, bool inferred, bool solved, bool divides, Tally *tally) {
    bool holds = inferred;
    if (b->vacuous) {
        tally->vacuous++;
        return;
    }
    for (int i = 0; i < t->p->preconditions.n && inferred; i++)
        holds &=
            t->p->preconditions.at[i].warn || value(b, t->p->preconditions.at[i].what, NULL) >= 0;
    if (!solved && !b->bad) {
        CHECK(!holds);
        tally->unsolved++;
        return;
    }
    if (b->bad) {
        CHECK(!holds || divides);
        tally->failed++;
        return;
    }
    if (!CHECK(holds)) return;
    for (int s = 0; s < t->p->stmts.n; s++)
        for (int i = 0; i < t->p->stmts.at[s].niters; i++) {
            CHECK_INT_EQ(value(b, t->p->stmts.at[s].iter[i].lo, NULL), b->lo[s][i]);
            CHECK_INT_EQ(value(b, t->p->stmts.at[s].iter[i].hi, NULL), b->hi[s][i]);
        }
    for (int k = 3; k < t->p->tensors.n; k++)
        for (int d = 0; d < t->p->tensors.at[k].rank; d++) {
            CHECK_INT_EQ(value(b, t->p->tensors.at[k].origin[d], NULL), b->from[k][d]);
            CHECK_INT_EQ(value(b, t->p->tensors.at[k].size[d], NULL), b->to[k][d] - b->from[k][d]);
        }
    tally->agreed++;
}

TEST(infer_agrees_with_enumeration) {
    Tally tally = {0};
    int64_t rounds = check_rounds(20000);
    for (int64_t n = 0; n < rounds; n++) {
        uint64_t seed = (uint64_t)n;
        bool divides = false;
        int failures = check_failures;
        Arena arena;
        arena_init(&arena, &allocator_libc);
        const char *text = random_program(&arena, &seed, &divides);
        Test t, plain;
        test_begin(&t, text);
        test_begin(&plain, text);
        int64_t params[8];
        for (int i = 0; i < t.p->params.n; i++)
            params[i] = 1 + (int64_t)below(&seed, t.p->params.at[i].kind == PARAM_SIZE ? 12 : 3);
        Brute b = {.t = &plain, .params = params};
        bool inferred = test_infer(&t), solved = brute(&b);
        compare(&t, &b, inferred, solved, divides, &tally);
        if (check_failures > failures) {
            printf("  in program %" PRId64 ": %s\n  ", n, text);
            for (int i = 0; i < t.p->params.n; i++)
                printf(" %s = %" PRId64, t.p->params.at[i].name, params[i]);
            printf("\n  %s\n", inferred ? outcome(&t) : complaints(&t));
        }
        arena_free(&t.arena);
        arena_free(&plain.arena);
        arena_free(&arena);
    }
    printf("  %" PRId64 " agreed, %" PRId64 " refused by both, %" PRId64 " ambiguous, %" PRId64
           " with an empty where\n",
           tally.agreed, tally.failed, tally.unsolved, tally.vacuous);
    CHECK(tally.agreed > rounds / 10);
}

// --- With the rest of the front-end ------------------------------------------------------------

// The sizes of the first output at given parameter values, "[4, 3 @ 1]", or the first error.
static const char *bound(Arena *arena, const char *text, const int64_t *values) {
    Names names = {.arena = arena};
    Source source = {"test.tc", text, (uint32_t)strlen(text)};
    DiagList diags = {.arena = arena, .source = &source};
    Module *m = tc_infer(tc_parse(arena, &names, &source, &diags));
    Program *p = m->programs.n ? program_bind(arena, m->programs.at[0], values, &diags) : NULL;
    if (!p) return diags.items.at[0]->text;
    const Tensor *t = &p->tensors.at[p->ninputs];
    Text out = {.arena = arena};
    text_add(&out, "[");
    for (int d = 0; d < t->rank; d++) {
        text_printf(&out, "%s%" PRId64, d ? ", " : "", tensor_size(t, d));
        if (tensor_origin(t, d)) text_printf(&out, " @ %" PRId64, tensor_origin(t, d));
    }
    text_add(&out, "]");
    return text_str(&out);
}

typedef struct BoundRow {
    const char *program;
    int64_t values[4];
    const char *want;
} BoundRow;

#define CONV "def f(float(H) I, float(K) W) -> (O) { O(h) +=! I(h+k) * W(k) }"
#define GRAD "def f(float(H) G, float(K) W) -> (O) { O(h) +=! G(h-k) * W(k) }"
#define SUM3 "def f(float(A) a, float(C) c, float(D) d) -> (O) { O(i,j) = a(i) * c(i+j) * d(j) }"

TEST(infer_then_bind) {
    static const BoundRow rows[] = {
        {CONV, {5, 3}, "[3]"},
        {CONV, {3, 3}, "[1]"},
        {CONV, {2, 3}, "H - K >= 0 must hold with H = 2, K = 3, but it is -1"},
        {CONV, {0, 0}, "[1]"},
        {CONV, {0, 1}, "[0]"},
        {CONV, {4, 0}, "[5]"},
        {CONV, {0, 3}, "dimension 1 of 'O' has size H - K + 1 = -2 with H = 0, K = 3"},
        {GRAD, {5, 3}, "[3 @ 2]"},
        {GRAD, {5, 0}, "[6 @ -1]"},
        {SUM3, {2, 4, 3}, "[2, 3]"},
        {SUM3, {2, 3, 3}, "C - A - D + 1 >= 0 must hold with A = 2, C = 3, D = 3, but it is -1"},
        {SUM3, {0, 1, 3}, "[0, 3]"},
    };
    for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
        Arena arena;
        arena_init(&arena, &allocator_libc);
        CHECK_STR_EQ(bound(&arena, rows[i].program, rows[i].values), rows[i].want);
        arena_free(&arena);
    }
}
