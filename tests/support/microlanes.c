// Every micro-operation lane by lane, as code/micro/micro.h defines it.
#include "support/microlanes.h"

#include <math.h>
#include <string.h>

#include "base/bug.h"

static int lane_size(Type t) { return type_info[type_compute(t)].bits == 64 ? 8 : 4; }

Value micro_get(Type t, const MicroVec *v, int lane) {
    const uint8_t *p = v->byte + lane * lane_size(t);
    Value x = {.i = 0};
    int32_t word;
    float single;
    if (lane_size(t) == 8) {
        memcpy(&x, p, 8);
        return x;
    }
    if (type_is_float(t)) {
        memcpy(&single, p, 4);
        x.f = single;
        return x;
    }
    memcpy(&word, p, 4);
    x.i = t == TYPE_BOOL ? word != 0 : t == TYPE_U32 ? (int64_t)(uint32_t)word : word;
    return x;
}

void micro_set(Type t, MicroVec *v, int lane, Value x) {
    uint8_t *p = v->byte + lane * lane_size(t);
    if (lane_size(t) == 8) {
        memcpy(p, &x, 8);
    } else if (type_is_float(t)) {
        float single = (float)x.f;
        memcpy(p, &single, 4);
    } else {
        int32_t word = t == TYPE_BOOL ? -(x.i != 0) : (int32_t)x.i;
        memcpy(p, &word, 4);
    }
}

static uint64_t bits_of(Type t, const MicroVec *v, int lane) {
    uint64_t x = 0;
    memcpy(&x, v->byte + lane * lane_size(t), (size_t)lane_size(t));
    return x;
}

static void set_bits(Type t, MicroVec *v, int lane, uint64_t x) {
    memcpy(v->byte + lane * lane_size(t), &x, (size_t)lane_size(t));
}

// ---- Arithmetic

static Value to_int(const Micro *m, double x) {
    if (m->type == TYPE_U64) return (Value){.i = (int64_t)(uint64_t)x};
    if (m->type == TYPE_I64) return (Value){.i = (int64_t)x};
    bool fits = x > -2147483649.0 && x < 2147483648.0;
    return (Value){.i = fits ? (int32_t)x : INT32_MIN};
}

static double mantissa(double x) {
    int e;
    if (isnan(x) || x < 0) return NAN;
    if (x == 0 || isinf(x)) return 1;
    double f = frexp(x, &e); // [1/2, 1)
    return f < 0.75 ? 2 * f : f;
}

static Value float_piece(int op, Value x, Value y) {
    switch (op) {
    case MOP_LESSER: return (Value){.f = x.f < y.f ? x.f : y.f};
    case MOP_GREATER: return (Value){.f = x.f > y.f ? x.f : y.f};
    case MOP_SCALE: return (Value){.f = isfinite(y.f) ? scalbn(x.f, (int)y.f) : x.f * exp2(y.f)};
    case MOP_EXPONENT: return (Value){.f = logb(x.f)};
    case MOP_MANTISSA: return (Value){.f = mantissa(x.f)};
    default: bug("micro-operation %d", op);
    }
}

// Operations below OP_COUNT have the meaning of the interpreter of Programs; narrow floats are
// lanes of f32.
static void op_lane(const Micro *m, const MicroVec *arg, int i, MicroVec *out) {
    Value x[4] = {{0}};
    for (int k = 0; k < m->nargs; k++) x[k] = micro_get(m->from, &arg[k], i);
    if (m->op == MOP_SHL || m->op == MOP_SHR) {
        uint64_t v = bits_of(m->type, &arg[0], i);
        set_bits(m->type, out, i, m->op == MOP_SHL ? v << m->value.i : v >> m->value.i);
    } else if (m->op == MOP_POPCOUNT) {
        set_bits(m->type, out, i, (uint64_t)__builtin_popcountll(bits_of(m->type, &arg[0], i)));
    } else if (m->op == MOP_TO_INT) {
        micro_set(m->type, out, i, to_int(m, x[0].f));
    } else if (m->op >= OP_COUNT) {
        micro_set(m->type, out, i, float_piece(m->op, x[0], x[1]));
    } else if (m->op == OP_SELECT) {
        int from = micro_get(TYPE_BOOL, &arg[0], i).i ? 1 : 2;
        set_bits(m->type, out, i, bits_of(m->type, &arg[from], i));
    } else {
        micro_set(m->type, out, i, op_eval((ExprOp)m->op, type_compute(m->from), x));
    }
}

// Dot products of narrow integers; unsigned bytes come first.
static Value dots_lane(const Micro *m, const MicroVec *arg, int i) {
    int64_t sum = micro_get(TYPE_I32, &arg[2], i).i;
    for (int k = 0; k < m->op; k++) {
        const uint8_t *x = arg[0].byte + 4 * i + 4 / m->op * k,
                      *y = arg[1].byte + 4 * i + 4 / m->op * k;
        sum += m->op == 4 ? type_load(TYPE_U8, x).i * type_load(TYPE_I8, y).i
                          : type_load(TYPE_I16, x).i * type_load(TYPE_I16, y).i;
    }
    return (Value){.i = (int32_t)(uint32_t)sum};
}

static void fma_lane(const Micro *m, const MicroVec *arg, int i, MicroVec *out) {
    Value x[3];
    for (int k = 0; k < 3; k++) x[k] = micro_get(m->type, &arg[k], i);
    bool off = m->nargs == 4 && !micro_get(TYPE_BOOL, &arg[3], i).i;
    if (m->op)
        x[2] = dots_lane(m, arg, i);
    else if (!off && lane_size(m->type) == 8)
        x[2].f = fma(x[0].f, x[1].f, x[2].f);
    else if (!off)
        x[2].f = fmaf((float)x[0].f, (float)x[1].f, (float)x[2].f);
    micro_set(m->type, out, i, x[2]);
}

static bool holds(int op, Type t, const MicroVec *x, const MicroVec *y, int i) {
    Value v[2] = {micro_get(t, x, i), micro_get(t, y, i)};
    return op_eval((ExprOp)op, t, v).i != 0;
}

// The fast result where it is valid, the operation itself elsewhere.
static void rescue_lane(const Micro *m, const MicroVec *arg, int i, MicroVec *out) {
    bool two = op_info[m->op].arity == 2;
    bool good = holds(OP_LE, m->type, &arg[0], &arg[two ? 0 : 1], i);
    Value v[2] = {micro_get(m->type, &arg[two ? 2 : 3], i), micro_get(m->type, &arg[3], i)};
    micro_set(m->type, out, i,
              good ? micro_get(m->type, &arg[two ? 1 : 2], i) : op_eval((ExprOp)m->op, m->type, v));
}

// Halves of a vector of twice as many lanes, as f64; and back.
static void half_lane(const Micro *m, const MicroVec *arg, int i, MicroVec *out) {
    Value x = micro_get(m->from, &arg[0], i + (m->op == 1 ? m->width : 0));
    micro_set(TYPE_F64, out, i, type_convert(TYPE_F64, m->from, x));
}

static void join_lane(const Micro *m, const MicroVec *arg, int i, MicroVec *out) {
    int low = m->nargs == 1 ? m->width : m->width / 2;
    double x = micro_get(TYPE_F64, &arg[i >= low], i >= low ? i - low : i).f;
    micro_set(m->type, out, i, type_is_float(m->type) ? (Value){.f = (float)x} : to_int(m, x));
}

// ---- Lanes in another order

// Lanes of 4 bytes of a and b by number, in 16-byte pieces: those of b follow those of a.
static MicroVec shuffle(const Micro *m, const MicroVec *a, const MicroVec *b) {
    MicroVec out;
    int pieces = m->width * lane_size(m->type) / 16;
    bool by64 = m->op == SHUFFLE_LOW64 || m->op == SHUFFLE_HIGH64;
    int high = m->op == SHUFFLE_HIGH32 || m->op == SHUFFLE_HIGH64;
    int size = by64 ? 8 : 4, half = 8 / size;
    memset(&out, 0xa5, sizeof out);
    for (int p = 0; p < pieces; p++) {
        uint8_t *to = out.byte + 16 * p;
        if (m->op >= SHUFFLE_EVEN128) {
            int from = 2 * p + (m->op == SHUFFLE_ODD128);
            memcpy(to, from < pieces ? a->byte + 16 * from : b->byte + 16 * (from - pieces), 16);
            continue;
        }
        for (int k = 0; k < half; k++) {
            int from = 16 * p + size * (k + high * half);
            memcpy(to + 2 * k * size, a->byte + from, (size_t)size);
            memcpy(to + (2 * k + 1) * size, b->byte + from, (size_t)size);
        }
    }
    return out;
}

static void copy_lane(const Micro *m, MicroVec *out, int i, const MicroVec *from, int k) {
    set_bits(m->type, out, i, bits_of(m->type, from, k));
}

static void pick_lane(const Micro *m, const MicroVec *arg, int i, MicroVec *out) {
    int from = (int)(uint8_t)bits_of(m->type, &arg[m->nargs - 1], i);
    bool second = from >= m->width && m->nargs == 3;
    copy_lane(m, out, i, &arg[second], from - second * m->width);
}

static void move_lane(const Micro *m, const MicroVec *arg, int i, MicroVec *out) {
    int group = m->op / 16;
    switch (m->kind) {
    case MI_UPPER: copy_lane(m, out, i, &arg[0], i + m->width); break;
    case MI_BROADCAST: copy_lane(m, out, i, &arg[0], 0); break;
    case MI_HEAD: copy_lane(m, out, i, &arg[i < m->op], i); break;
    case MI_GROUP: copy_lane(m, out, i, &arg[0], i / group * group + m->op % 16); break;
    case MI_PERMUTE: pick_lane(m, arg, i, out); break;
    case MI_LANES:
        if (i)
            micro_set(m->type, out, i, reduce_identity(m->type, m->op));
        else
            copy_lane(m, out, 0, &arg[0], 0);
        break;
    default: copy_lane(m, out, i, &arg[0], i); break;
    }
}

// ---- All operations

static void choose_lane(const Micro *m, const MicroVec *arg, int i, MicroVec *out) {
    copy_lane(m, out, i, &arg[holds(m->op, m->from, &arg[0], &arg[1], i) ? 2 : 3], i);
}

static void compute_lane(const Micro *m, const MicroVec *arg, int i,
                         const Permutation *permutations, MicroVec *out) {
    switch (m->kind) {
    case MI_CONST: micro_set(m->type, out, i, m->value); break;
    case MI_OP: op_lane(m, arg, i, out); break;
    case MI_FMA: fma_lane(m, arg, i, out); break;
    case MI_CHOOSE: choose_lane(m, arg, i, out); break;
    case MI_WIDEN: half_lane(m, arg, i, out); break;
    case MI_NARROW: join_lane(m, arg, i, out); break;
    case MI_RESCUE: rescue_lane(m, arg, i, out); break;
    case MI_CAST:
        micro_set(m->type, out, i, type_convert(m->type, m->from, micro_get(m->from, &arg[0], i)));
        break;
    case MI_LANE_NUMBERS: set_bits(m->type, out, i, permutations[m->value.i].from[i]); break;
    default: move_lane(m, arg, i, out); break;
    }
}

MicroVec micro_compute(const Micro *m, const MicroVec *arg, const Permutation *permutations) {
    MicroVec out;
    if (m->kind == MI_SHUFFLE) return shuffle(m, &arg[0], &arg[1]);
    memset(&out, 0xa5, sizeof out);
    for (int i = 0; i < m->width; i++) compute_lane(m, arg, i, permutations, &out);
    return out;
}
