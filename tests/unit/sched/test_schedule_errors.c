// Every diagnostic of schedules: the text that provokes it, and its message and location.
#include "unit/tree_run.h"

static const char program[] =
    "program p {\n"
    "    input A: f32[7, 9]\n    input B: f32[9, 10]\n    inout C: f32[7, 10]\n    output O: "
    "f32[7, 10]\n"
    "    output H: f32[20]\n    temp T: f32[7, 9]\n    temp U: f32[7, 10]\n"
    "    T: for m in 0:7, k in 0:9\n        T[m, k] = A[m, k]*2.0\n"
    "    U: for m in 0:7, n in 0:10\n        U[m, n] = C[m, n]*3.0\n"
    "    C: for m in 0:7, n in 0:10, k in 0:9\n        C[m, n] += T[m, k]*B[k, n]\n"
    "    O: for m in 0:7, n in 0:10\n        O[m, n] = C[m, n] + U[m, n]\n"
    "    H: for m in 0:7, n in 0:10\n        H[m + n] +=! O[m, n]\n"
    "}\n";

typedef struct Case {
    const char *schedule, *error;
} Case;

#define M16 "m m m m m m m m m m m m m m m m "

static const Case cases[] = {
    {"  C: m\n", "1:3: error: an indented line is an option and needs a statement above it"},
    {"C m\n", "1:3: error: expected ':', found 'm'"},
    {"flatten\nC: m\n",
     "1:1: error: no dimensions of 'p' are contiguous in memory, so there is nothing to flatten"},
    {"flatten it\n", "1:9: error: expected the end of the line, found 'it'"},
    {"flatten: m\n", "1:1: error: no statement 'flatten' in the program"},
    {"C: m n k\nC: m\n", "2:1: error: statement 'C' has two sections"},
    {"C: m/0\n", "1:6: error: '0' is not a number of at least 1 that fits"},
    {"C: m/99999999999999999999\n",
     "1:6: error: '99999999999999999999' is not a number of at least 1 that fits"},
    {"C: m n k\n    prefetch B at k distance 1 level 9\n",
     "2:38: error: '9' is not a number from 1 to 4 that fits"},
    {"C: m | n | k\n", "1:10: error: an order has at most one '|'"},
    {"C: m:x\n",
     "1:6: error: no mark 'x': expected p, u, v, any, warp, lane, cluster, grid.x to thread.z"},
    {"C: m\n    fly\n", "2:5: error: no option 'fly'"},
    {"C: m\n    align 3\n", "2:11: error: an alignment must be a power of two"},
    {"T: m\n    cache A l3\n",
     "2:13: error: expected 'readonly', 'l1', 'l2' or 'streaming', found 'l3'"},
    {"T: m\n    cache A\n",
     "2:12: error: expected 'readonly', 'l1', 'l2' or 'streaming', found the end of the line"},
    {"T: m\n    cache A l1\n    cache A l2\n", "3:11: error: option 'cache A' is given twice"},
    {"T: m\n    cache B l1\n", "2:11: error: no tensor 'B' that statement 'T' reads"},
    {"C: m\n    cache C readonly\n", "2:11: error: no tensor 'C' that statement 'C' reads"},
    {"C: m\n    copy B at m\nC.B: k\n    cache B l2\n",
     "3:1: error: the place, layout and cache of copy 'C.B' belong to the section that makes it"},
    {"C: m n k\n    copy B at m\n    groups 2\n",
     "3:5: error: 'groups' has nothing to divide: no copy of 'C' is made at a loop over "
     "blocks of a reduction, such as k/32"},
    {"C: m n k/8 k\n    copy B at k/8\n    groups 3\n",
     "3:5: error: 3 groups do not divide the 8 iterations of a tile of 'k', or the steps of its "
     "inner loops"},
    {"C: m n k/8 k/4 k\n    copy B at k/8\n    groups 4\n",
     "3:5: error: 4 groups do not divide the 8 iterations of a tile of 'k', or the steps of its "
     "inner loops"},
    {"C: m n k\n    groups 0\n", "2:12: error: '0' is not a number of at least 1 that fits"},
    {"T: m\n    swizzle 16\n", "2:13: error: expected '32', '64' or '128', found '16'"},
    {"T: m\n    swizzle 64\n    swizzle 32\n", "3:5: error: option 'swizzle' is given twice"},
    {"C: m\n    layout m\n", "2:12: error: expected '(', found 'm'"},
    {"C: m\n    layout (0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0)\n",
     "2:13: error: too many dimensions in a layout"},
    {"C: " M16 M16 M16 M16 "m\n", "1:132: error: too many loops in the order of 'C'"},
    {"C: " M16 M16 M16 "m m m m m m m m m m m m m m m n\n",
     "1:1: error: 'C' runs in 65 nested loops, the limit is 64"},
    {"X: m\n", "1:1: error: no statement 'X' in the program"},
    {"C: m q\n", "1:6: error: no iterator 'q' in statement 'C'"},
    {"C: m:v n k\n", "1:4: error: vector loop over 'm' is not innermost: 'n' runs inside it"},
    {"T: m k\n    layout (k z)\n", "2:15: error: no dimension 'z' in 'T'"},
    {"C:\n    at m\n",
     "2:8: error: 'C' is an argument: only temporaries are computed at a loop of their readers"},
    {"T:\n    at m/4\n", "2:8: error: statement 'C' reads 'T' and has no loop 'm/4'"},
    {"U:\n    at m\n", "2:8: error: 'U' cannot be computed where 'O' reads it: its operand 'C' "
                       "has changed by then"},
    {"C:\n    inline\n",
     "1:1: error: 'C' cannot be inlined: it must be a temporary with one definition by '=' and a "
     "plain iterator per dimension"},
    {"U:\n    inline\n", "1:1: error: 'U' cannot be inlined into statement 'O': a subscript "
                         "reads it, rounding would differ, or its operands have changed by then"},
    {"C:\n    copy Q\n", "2:10: error: no tensor 'Q' that statement 'C' reads"},
    {"T:\n    after C\n", "1:1: error: 'T' cannot run as a post-operation of 'C': it comes first"},
    {"H:\n    after O\n",
     "1:1: error: 'H' cannot run as a post-operation of 'O': it is a reduction itself"},
    {"O:\n    after T\n",
     "1:1: error: 'O' cannot run as a post-operation of 'T': it does not read its result"},
    {"O:\n    after Z\n",
     "1:1: error: 'O' cannot run as a post-operation of 'Z': there is no such statement"},
    {"C:\n    privatise m/4\n", "2:15: error: 'C' cannot have partial results over 'm': this "
                                "iterator stands on the left, so there is nothing to sum up"},
    {"C: m\n    prefetch B at q distance 3\n", "2:19: error: no loop 'q' around statement 'C'"},
    {"C: m\n    prefetch A at m\n", "2:14: error: no tensor 'A' that statement 'C' uses"},
    {"C: m\n    prefetch B\n", "2:15: error: expected 'at', found the end of the line"},
    {"C: m\n    place moon\n",
     "2:11: error: expected 'register', 'stack', 'scratch' or 'shared', found 'moon'"},
    {"C: m\n    inline now\n", "2:12: error: expected the end of the line, found 'now'"},
    {"C: m ? n\n", "1:6: error: expected a loop, found '?'"},
    {"T:\n    align 64\n    align 32\n", "3:5: error: option 'align' is given twice"},
    {"C:\n    copy B at m at n\n", "2:17: error: expected the end of the line, found 'at'"},
    {"O:\n    after C\n    after C\n", "3:5: error: option 'after' is given twice"},
    {"C:\n    layout (n m)\n",
     "1:1: error: 'C' is an argument: its layout, place and alignment are the caller's"},
    {"C: m:grid.x n:grid.x k\n",
     "1:13: error: grid.x inside grid.x: each axis runs once, and threads inside the grid"},
    {"C: m:thread.y n:grid.z k\n",
     "1:15: error: grid.z inside thread.y: each axis runs once, and threads inside the grid"},
    {"C:\n    copy B at m\nC.B:\n    layout (1 0)\n",
     "3:1: error: the place, layout and cache of copy 'C.B' belong to the section that makes it"},
    {"T: | m k\n    place register\nC:\n    copy T place stack\n", NULL},
};

TEST(schedule_errors_have_texts_and_places) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TreeRun r;
        tr_begin(&r, program);
        CHECK(!tr_lower(&r, cases[i].schedule) == (cases[i].error != NULL));
        if (!cases[i].error) {
            CHECK_STR_EQ(tr_diags(&r), "");
            tr_end(&r);
            continue;
        }
        if (!CHECK(r.diags.items.n > 0)) {
            printf("%s", cases[i].schedule);
            continue;
        }
        Text text = {.arena = &r.arena};
        diag_print(&text, r.diags.items.at[0]);
        const char *got = text_str(&text), *end = strchr(got, '\n');
        if (!strncmp(got, "s.lws:", 6)) got += 6;
        CHECK_STR_EQ(arena_strndup(&r.arena, got, (size_t)(end - got)), cases[i].error);
        CHECK_INT_EQ(r.diags.errors, 1);
        tr_end(&r);
    }
}

// Whether a Schedule is accepted, and all its diagnostics.
static void says(const char *text, const char *schedule, const char *want) {
    TreeRun r;
    tr_begin(&r, text);
    bool ok = tr_lower(&r, schedule) != NULL;
    CHECK(ok == !strstr(want, "error"));
    Text got = {.arena = &r.arena};
    for (int i = 0; i < r.diags.items.n; i++) {
        const Diag *d = r.diags.items.at[i];
        text_printf(&got, "%s: %s\n", d->severity == SEVERITY_WARNING ? "warning" : "error",
                    d->text);
        for (const Diag *n = d->notes; n; n = n->next) text_printf(&got, "note: %s\n", n->text);
    }
    CHECK_STR_EQ(text_str(&got), want);
    tr_end(&r);
}

static const char names[] =
    "program p {\n    input image: f32[7, 9]\n    output sums: f32[7]\n    temp twice: f32[7, 9]\n"
    "    twice: for row in 0:7, column in 0:9\n        twice[row, column] = image[row, "
    "column] + 2.0\n"
    "    sums: for row in 0:7, column in 0:9\n        sums[row] +=! twice[row, column]\n}\n";

TEST(schedules_ask_what_was_meant) {
    says(names, "sum: row\n",
         "error: no statement 'sum' in the program\nnote: did you mean 'sums'?\n");
    says(names, "sums: row colum\n",
         "error: no iterator 'colum' in statement 'sums'\nnote: did you mean 'column'?\n");
    says(names, "sums:\n    privatize column\n",
         "error: no option 'privatize'\nnote: did you mean 'privatise'?\n");
    says(names, "sums: row\ncopy twice\n",
         "error: expected ':', found 'twice'\n"
         "note: options are indented below the order of their statement\n");
    says(names, "sums:\n    copy twise\n",
         "error: no tensor 'twise' that statement 'sums' reads\nnote: did you mean 'twice'?\n");
    says(names, "sums: row\n    prefetch twicee at row\n",
         "error: no tensor 'twicee' that statement 'sums' uses\nnote: did you mean 'twice'?\n");
    says(names, "twice: |\n    layout (colum row)\n",
         "error: no dimension 'colum' in 'twice'\nnote: did you mean 'column'?\n");
    says(names, "twice:\n    at rov/2\n",
         "error: statement 'sums' reads 'twice' and has no loop 'rov/2'\nnote: did you mean "
         "'row'?\n");
    says(names, "sums: row:parallle\n",
         "error: no mark 'parallle': expected p, u, v, any, warp, lane, cluster, grid.x to "
         "thread.z\n"
         "note: did you mean 'parallel'?\n");
    says(names, "q: row\n",
         "error: no statement 'q' in the program\nnote: there are 'twice' and 'sums'\n");
    says(names, "sums: q\n",
         "error: no iterator 'q' in statement 'sums'\nnote: there are 'row' and 'column'\n");
    says(names, "twice:\n    at row/2\nsums: row/4 column row\n",
         "error: statement 'sums' reads 'twice' and has no loop 'row/2'\n"
         "note: its loops are row/4 column row\n");
    says(names, "sums: column:v\n",
         "error: vector loop over 'column' is not innermost: 'row' runs inside it\nnote: "
         "iterators that the order omits run innermost; add 'row' to the order further out, or "
         "mark it\n");
    says(names, "sums:\n    privatise row\n",
         "error: 'sums' cannot have partial results over 'row': this iterator stands on the left, "
         "so there is nothing to sum up\n");
    says(names, "sums:\n    privatise k\n",
         "error: no iterator 'k' in statement 'sums'\nnote: there are 'row' and 'column'\n");
    says(names, "twice:\n    privatise column\n",
         "error: 'twice' cannot have partial results over 'column': it reduces nothing\n");
    says(names, "sums:\n    after twicce\n",
         "error: 'sums' cannot run as a post-operation of 'twicce': there is no such statement\n"
         "note: did you mean 'twice'?\n");
}

// An invalid index is found in every schedule: no iteration that would find it may be omitted.
TEST(schedules_keep_checks_of_indices) {
    const char *part =
        "program p { input I: i32[4] input E: f32[7] output O: f32[2] temp t: f32[4]\n"
        "t: for i in 0:4 t[i] = E[I[i]]\n"
        "O: for i in 0:2 O[i] = t[i] }";
    says(
        part, "t:\n    inline\n",
        "error: 't' cannot be inlined: it checks indices from data, and not every element of it is "
        "read\n");
    says(part, "t:\n    at i\n",
         "error: 't' cannot be computed where it is read: it checks indices from data, and not "
         "every "
         "element of it is read\n");
    says(part, "t:\n    copy E layout (0/2 0)\n", "");
    says("program p { input I: i32[4] input E: f32[7] output O: f32[4] temp t: f32[4]\n"
         "t: for i in 0:4 t[i] = E[I[i]]\n"
         "O: for i in 0:4 O[i] = t[i] }",
         "t:\n    inline\n", "");
    says("program p { input A: f32[16, 3] inout P: f32[8]\n"
         "P: for g in 0:16, h in 0:3 if 7 - g >= 0 P[g] max= A[g, h] }",
         "P:\n    privatise h\n",
         "error: 'P' cannot have partial results over 'h': only its conditions keep the result "
         "inside\n");
}

TEST(schedules_say_nothing_in_vain) {
    says(names, "twice: row\n    inline\n",
         "warning: what else is said of it has no effect: with 'inline' it is computed nowhere\n");
    says(names, "sums: row:u\n    grain 4\n",
         "warning: 'grain' has no effect: no loop is parallel\n");
    says(names, "twice: row\n    accumulators 4\n",
         "warning: 'accumulators' has no effect: the statement reduces nothing\n");
    says(names, "twice: row/2 row/4 row\n",
         "warning: the loop 'row/4' has no effect: it runs once in 'row/2', which is outside "
         "of it\n");
    says(names, "twice: row/4 row row column\n",
         "warning: the loop 'row' has no effect: it runs once in 'row', which is outside of it\n");
    says(program, "O: m n\n    after C\n",
         "warning: an order has no effect: with 'after' it runs in the loops of that statement\n");
    says("program p {\n    input A: f32[9]\n    output O: f32[9]\n    temp T: f32[9]\n"
         "    T: for i in 0:4\n        T[i] = A[i]\n    T.1: for i in 4:9\n        T[i] = A[i] + "
         "1.0\n"
         "    O: for i in 0:9\n        O[i] = T[i]\n}\n",
         "T.1:\n    align 64\n",
         "error: layout, place and alignment of 'T' belong to 'T', which defines it first\n");
    says("program p {\n    input A: f32[9000]\n    output O: f32[9000]\n    temp T: f32[9000]\n"
         "    T: for i in 0:9000\n        T[i] = A[i]\n    O: for i in 0:9000\n        O[i] = "
         "T[i]\n}\n",
         "T: |\n    place register\n",
         "error: 'T' needs 36000 bytes there; registers hold at most 2048\n");
    says("program p {\n    input A: f32[99, 999]\n    output O: f32[99, 999]\n    temp T: f32[99, "
         "999]\n"
         "    T: for i in 0:99, j in 0:999\n        T[i, j] = A[i, j]\n"
         "    O: for i in 0:99, j in 0:999\n        O[i, j] = T[i, j]\n}\n",
         "T: |\n    place stack\n",
         "error: 'T' needs 395604 bytes there; the stack holds at most 65536\n");
}

TEST(schedule_copies_nothing_that_is_written) {
    TreeRun r;
    tr_begin(
        &r,
        "program p {\n    inout C: f32[7]\n    C: for m in 0:7\n        C[m] = C[m] + 1.0\n}\n");
    CHECK(!tr_lower(&r, "C:\n    copy C\n"));
    CHECK_STR_EQ(r.diags.items.at[0]->text,
                 "'C' cannot be copied for statement 'C', which writes it");
    tr_end(&r);
}

TEST(schedule_copies_hold_all_values) {
    static const char *const refused[][3] = {
        {"i8", "u16",
         "a copy of 'A' cannot hold u16: only a wider type than its i8, with all of "
         "its values"},
        {"f32", "f16",
         "a copy of 'A' cannot hold f16: only a wider type than its f32, with all of "
         "its values"},
        {"i32", "f64",
         "a copy of 'A' cannot hold f64: only a wider type than its i32, with all of "
         "its values"}};
    for (int i = 0; i < 3; i++) {
        TreeRun r;
        char text[200], schedule[50];
        snprintf(text, sizeof text,
                 "program p {\n    input A: %s[7]\n    output C: %s[7]\n"
                 "    C: for m in 0:7\n        C[m] = A[m]\n}\n",
                 refused[i][0], refused[i][0]);
        snprintf(schedule, sizeof schedule, "C:\n    copy A as %s\n", refused[i][1]);
        tr_begin(&r, text);
        CHECK(!tr_lower(&r, schedule));
        CHECK_STR_EQ(r.diags.items.at[0]->text, refused[i][2]);
        tr_end(&r);
    }
}

// More loops than a Tree has indices for: no two statements can share theirs.
TEST(trees_refuse_what_is_too_large) {
    TreeRun r;
    tr_init(&r);
    Text text = {.arena = &r.arena};
    text_add(&text, "program p {\n    input A: f32[2]\n    output O: f32[2, 2, 2, 2]\n");
    for (int i = 0; i < 2048; i++)
        text_add(&text, "for a in 0:2, b in 0:2, c in 0:2, d in 0:2\n O[a, b, c, d] = A[a]\n"
                        "for a in 0:2, b in 0:2, c in 0:2, d in 0:2\n O[1 - a, b, c, d] = A[a]\n");
    text_add(&text, "}\n");
    const Program *p =
        program_parse(&r.arena, &r.names, tr_source(&r, "p", text_str(&text)), &r.diags);
    int64_t none = 0;
    r.p = p ? program_bind(&r.arena, p, &none, &r.diags) : NULL;
    if (!CHECK(r.p)) return;
    CHECK(!tr_lower(&r, NULL));
    CHECK_STR_EQ(r.diags.items.at[0]->text, "more than 16384 loops");
    tr_end(&r);
}

TEST(interpreter_reports_what_goes_wrong) {
    TreeRun r;
    tr_begin(&r, "program p {\n    input I: i32[1]\n    input A: f32[2]\n    output O: f32[1]\n"
                 "    O: for i in 0:1\n        O[i] = A[I[i]]\n}\n");
    Tree *t = tr_lower(&r, NULL);
    View v[3];
    tr_fill(&r, v, 1);
    *(int32_t *)v[0].data = 5;
    CHECK(!tree_interpret(&r.arena, t, v, (InterpFlags){0}, &r.diags));
    CHECK_STR_EQ(r.diags.items.at[0]->text,
                 "index 5 of dimension 0 is outside 'A', which has 2 there");
    tr_end(&r);
    tr_begin(
        &r,
        "program p {\n    input A: f32[2]\n    output O: f32[2]\n    temp T: f32[2]\n"
        "    T: for i in 0:2\n        T[i] = A[i]\n    O: for i in 0:2\n        O[i] = T[i]\n}\n");
    r.p->stmts.at[0].iter[0].hi = affine_const(r.p->exprs, 1); // bypasses program_bind
    t = tr_lower(&r, "T: |\n");
    tr_fill(&r, v, 1);
    CHECK(t &&
          !tree_interpret(&r.arena, t, v, (InterpFlags){.trap_uninitialised = true}, &r.diags));
    CHECK_STR_EQ(r.diags.items.at[0]->text, "'T' is read at element 1 before anything wrote it");
    tr_end(&r);
}
