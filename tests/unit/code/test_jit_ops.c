// Every operation and conversion on every type, on the values where arithmetic is special, as
// compiled vectors and scalars against the interpreter: bit for bit, except where a function may
// differ by 2 units in the last place of f32, or 4 of f64.
#include "unit/check.h"

#include <math.h>

#include "support/jitlab.h"
#include "support/specials.h"
#include "sched/schedule.h"

enum { VALUES = 37 }; // two vectors of 16 and a tail

static Value special(Type t, int i) {
    static const double floats[VALUES] = {0,
                                          -0.0,
                                          1,
                                          -1,
                                          2.5,
                                          -2.5,
                                          0.5,
                                          -0.5,
                                          1.5,
                                          0x1.fffffffffffffp-2,
                                          1e30,
                                          -1e30,
                                          0x1.fffffep-2,
                                          -0.7,
                                          1e-30,
                                          100.5,
                                          NAN,
                                          INFINITY,
                                          -1e-40,
                                          127.5,
                                          -128.5,
                                          255.9,
                                          256,
                                          65535.5,
                                          -33e3,
                                          0x1p31,
                                          -0x1p31,
                                          0x1.fffffep30,
                                          0x1p32,
                                          -INFINITY,
                                          0x1p63,
                                          -0x1p63,
                                          0x1p64,
                                          0x1.fffffep62,
                                          0x1.fffffep63,
                                          -0x1.8p40,
                                          0x1.23456789p45};
    static const int64_t ints[VALUES] = {0,
                                         1,
                                         -1,
                                         2,
                                         3,
                                         7,
                                         8,
                                         31,
                                         33,
                                         64,
                                         127,
                                         INT64_MIN,
                                         INT64_MAX,
                                         INT32_MIN,
                                         -3,
                                         255,
                                         -128,
                                         128,
                                         32767,
                                         -32768,
                                         65535,
                                         INT32_MAX,
                                         UINT32_MAX,
                                         0x100000000,
                                         0x1000001,
                                         -0x1000001,
                                         (1ll << 53) + 1,
                                         -(1ll << 53) - 1,
                                         0x7fffff4000000001,
                                         0x20000000000001,
                                         0x7fffffbfffffffff,
                                         -7,
                                         10,
                                         100,
                                         0x4000004000000000,
                                         0x4000004000000001,
                                         -0x4000004000000001};
    if (type_is_float(t)) return type_round(t, (Value){.f = floats[i]});
    return type_round(t, (Value){.i = ints[i]});
}

// May results differ in the last places?
static bool rounds_freely(int op) {
    switch (op) {
    case OP_CEIL:
    case OP_FLOOR:
    case OP_TRUNC:
    case OP_ROUND:
    case OP_FABS:
    case OP_SQRT:
    case OP_RECIP:
    case OP_COPYSIGN:
    case OP_FDIVIDE:
    case OP_FMAX:
    case OP_FMIN:
    case OP_FMOD:
    case OP_REMAINDER:
    case OP_FMA:
    case OP_NEXTAFTER: return false;
    default: return op_info[op].class == OP_MATH;
    }
}

static bool close_enough(Type t, double got, double want) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (!signbit(got) != !signbit(want)) return false;
    if (got == want) return true;
    static const struct {
        int places, least, units;
    } type[TYPE_COUNT] = {[TYPE_F64] = {53, -1021, 4},
                          [TYPE_F32] = {24, -125, 2},
                          [TYPE_F16] = {11, -13, 1},
                          [TYPE_BF16] = {8, -125, 1}};
    int e;
    frexp(want, &e);
    if (e < type[t].least) e = type[t].least;
    return fabs(got - want) <= ldexp(type[t].units, e - type[t].places);
}

static const char *difference(Lab *lab, const Program *p, const LabData *got, const LabData *want,
                              bool freely) {
    if (!freely) return lab_difference(lab, p, got, want);
    int c = p->ninputs;
    for (int64_t i = 0; i < VALUES * VALUES; i++) {
        double g = lab_value(got, c, i), w = lab_value(want, c, i);
        if (!close_enough(p->tensors.at[c].type, g, w))
            return arena_printf(&lab->arena, "element %lld is %a, want %a", (long long)i, g, w);
    }
    return NULL;
}

static void compare_data(Lab *lab, const Program *p, const char *schedule, const LabData *start,
                         bool freely) {
    Source source = {"schedule", schedule, (uint32_t)strlen(schedule)};
    Schedule *s = schedule_parse(&lab->arena, &lab->names, &source, &lab->diags);
    Tree *t = p && s ? tree_lower(&lab->arena, p, s, &lab->diags) : NULL;
    if (!CHECK(t)) {
        printf("%s\n", lab_errors(lab));
        return;
    }
    LabData want = lab_copy(lab, p, start);
    lab_run(lab, p, &want);
    for (Isa isa = 0; isa < ISA_COUNT; isa++) {
        Machine m;
        machine_detect(&m, isa);
        if (m.isa != isa) continue;
        LabData got = lab_copy(lab, p, start);
        if (!CHECK(jit_run(lab, t, &m, &got, (InterpFlags){0}, 1, isa & 1) == JIT_OK))
            printf("%s on %s\n%s", lab_text(lab, p), isa_name[isa], lab_errors(lab));
        const char *d = difference(lab, p, &got, &want, freely);
        if (!CHECK(!d)) printf("%s\n%s: %s\n", lab_text(lab, p), isa_name[isa], d);
    }
}

static void compare(Lab *lab, const char *text, const char *schedule, bool freely) {
    const Program *p = lab_program(lab, text, NULL);
    if (!CHECK(p)) printf("%s\n%s\n", text, lab_errors(lab));
    if (!p) return;
    LabData start = special_data(lab, p, VALUES, special);
    compare_data(lab, p, schedule, &start, freely);
}

TEST(compiled_code_computes_every_operation) {
    for (int t = TYPE_BOOL; t < TYPE_COUNT; t++) {
        Lab lab;
        lab_begin(&lab);
        for (int op = 0; op < OP_COUNT; op++)
            if (op_applies(op, (Type)t))
                compare(&lab, op_program(&lab.arena, op, (Type)t, VALUES), "C: i j:v\n",
                        rounds_freely(op));
        lab_end(&lab);
    }
}

// Operands of which each is needed once, and may come straight from memory.
TEST(compiled_code_takes_operands_from_memory) {
    Lab lab;
    lab_begin(&lab);
    for (int t = TYPE_BOOL; t < TYPE_COUNT; t++)
        for (int op = 0; op < OP_COUNT; op++) {
            const OpInfo *o = &op_info[op];
            if (!op_applies(op, (Type)t) || o->arity != 2 || rounds_freely(op)) continue;
            const char *type = type_info[t].name, *to = o->class == OP_COMPARE ? "bool" : type;
            bool infix = op_info[op].binds;
            compare(&lab,
                    arena_printf(&lab.arena,
                                 "program f { input A: %s[37] input B: %s[37] output C: %s[36]\n"
                                 "C: for i in 0:36  C[i] = %s(A[i] %s B[i + 1]) }",
                                 type, type, to, infix ? "" : o->name, infix ? o->name : ","),
                    "C: i:v\n", false);
        }
    lab_end(&lab);
}

TEST(compiled_code_converts_between_all_types) {
    Lab lab;
    lab_begin(&lab);
    for (int from = TYPE_BOOL; from < TYPE_COUNT; from++)
        for (int to = TYPE_BOOL; to < TYPE_COUNT; to++)
            compare(&lab, cast_program(&lab.arena, (Type)from, (Type)to, VALUES), "C: i:v\n",
                    false);
    lab_end(&lab);
}

// Near multiples of a divisor that is known, over the whole range of the type.
TEST(compiled_code_divides_by_constants) {
    enum { N = 1024 };
    static const int64_t by[] = {1,          2,          3,          5,   6,    7,      8,
                                 10,         64,         100,        127, 128,  255,    641,
                                 1000,       32767,      -1,         -3,  -128, 65535,  0x40000000,
                                 0x7fffffff, 0x80000000, 0xffffffff, 255, 0,    6700417};
    for (int t = TYPE_I8; t < TYPE_COUNT; t++)
        for (size_t d = 0; d < sizeof by / sizeof *by; d++) {
            Type type = (Type)t;
            int64_t k = type_round(type, (Value){.i = by[d]}).i;
            bool fits = k == by[d] && (k >= 0 || type_info[type].class == CLASS_INT);
            if (!type_is_integer(type) || !fits) continue;
            Lab lab;
            lab_begin(&lab);
            const char *name = type_info[type].name;
            const Program *p = lab_program(
                &lab,
                arena_printf(&lab.arena,
                             "program f { input A: %s[%d] output Q: %s[%d] output R: %s[%d]\n"
                             "Q: for i in 0:%d  Q[i] = A[i] / %s(%lld)\n"
                             "R: for i in 0:%d  R[i] = A[i] %% %s(%lld) }",
                             name, N, name, N, name, N, N, name, (long long)k, N, name,
                             (long long)k),
                NULL);
            if (!CHECK(p)) return;
            LabData start = lab_data(&lab, p, 1);
            uint64_t state = 7 + d;
            for (int i = 0; i < N; i++) {
                int64_t x = (int64_t)check_random(&state);
                if (i % 4 < 3) x = (int64_t)((uint64_t)(x / 65536) * (uint64_t)k) + i % 4 - 1;
                type_store(type, (char *)start.view[0].data + i * type_info[type].bytes,
                           type_round(type, (Value){.i = x}));
            }
            compare_data(&lab, p, "Q: i:v\nR: i:v\n", &start, false);
            lab_end(&lab);
        }
}
