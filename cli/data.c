// Arguments in memory: filled with random numbers or from text, and summarised.
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- Elements ------------------------------------------------------------------------------------

static float f16_to_float(uint16_t h) {
    int exponent = h >> 10 & 31;
    float fraction = (float)(h & 1023), sign = h & 0x8000 ? -1.0f : 1.0f;
    if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexpf(1024 + fraction, exponent - 25) : ldexpf(fraction, -24));
}

static uint16_t f16_from_double(double d) {
    uint16_t sign = signbit(d) ? 0x8000 : 0;
    if (isnan(d)) return 0x7e00;
    d = fabs(d);
    if (d >= 65520) return sign | 0x7c00;
    int e;
    frexp(d, &e);
    int step = e < -13 ? -24 : e - 11; // exponent of the last place
    double units = nearbyint(ldexp(d, -step));
    if (step == -24) return (uint16_t)(sign | (unsigned)units); // subnormal, or just normal
    return (uint16_t)(sign | (((unsigned)(step + 24) << 10) + (unsigned)units));
}

static uint16_t bf16_from_double(double d) {
    float f = (float)d;
    uint32_t u;
    memcpy(&u, &f, 4);
    if (isnan(d)) return 0x7fc0;
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static bool is_float(DLDataType t) { return t.code == kDLFloat || t.code == kDLBfloat; }

static double load_float(DLDataType t, const char *p) {
    uint16_t half;
    float single;
    double full;
    switch (t.bits) {
    case 16: memcpy(&half, p, 2); break;
    case 32: memcpy(&single, p, 4); return single;
    default: memcpy(&full, p, 8); return full;
    }
    if (t.code == kDLFloat) return f16_to_float(half);
    uint32_t u = (uint32_t)half << 16;
    memcpy(&single, &u, 4);
    return single;
}

static void store_float(DLDataType t, char *p, double value) {
    uint16_t half = t.code == kDLFloat ? f16_from_double(value) : bf16_from_double(value);
    float single = (float)value;
    switch (t.bits) {
    case 16: memcpy(p, &half, 2); break;
    case 32: memcpy(p, &single, 4); break;
    default: memcpy(p, &value, 8);
    }
}

// Little-endian, like every machine this runs on; sign- or zero-extended.
static int64_t load_int(DLDataType t, const char *p) {
    uint64_t u = 0;
    memcpy(&u, p, t.bits / 8u);
    int unused = 64 - t.bits;
    return t.code == kDLInt ? (int64_t)(u << unused) >> unused : (int64_t)u;
}

static void store_int(DLDataType t, char *p, int64_t value) { memcpy(p, &value, t.bits / 8u); }

static bool int_fits(DLDataType t, int64_t value) {
    char bytes[8];
    store_int(t, bytes, value);
    if (t.code == kDLBool) return value == 0 || value == 1;
    return load_int(t, bytes) == value && (t.code == kDLInt || value >= 0);
}

// --- Arrays --------------------------------------------------------------------------------------

int64_t data_elements(const DLTensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        if (t->shape[d] == 0) return 0;
    for (int d = 0; d < t->ndim; d++)
        if (__builtin_mul_overflow(n, t->shape[d], &n)) return -1;
    return n;
}

// Arguments begin at a cache line, so that loads do not cross lines, and 17 lines further into
// their page than the previous argument, so that stores to one do not alias with loads from
// another. Tuning places its operands in the same way (run/child.h).
enum { LINE = 64, PAGE = 4096, STAGGER = 17 * LINE };

static char *place_in_page(char *block, size_t number) {
    size_t offset = number * STAGGER % PAGE;
    return block + (offset - (uintptr_t)block) % PAGE;
}

bool data_new(Array *a, const DLTensor *like, size_t number) {
    *a = (Array){.t = *like};
    int64_t n = data_elements(like), stride = 1;
    if (n < 0) return false;
    size_t most = SIZE_MAX / (like->dtype.bits / 8u) - PAGE;
    if ((size_t)n > most) return false;
    a->block = calloc((size_t)n * (like->dtype.bits / 8u) + PAGE, 1);
    if (!a->block) return false;
    a->memory = place_in_page(a->block, number);
    a->dims = cli_alloc(sizeof(int64_t) * 2 * ((size_t)like->ndim + 1));
    a->t.data = a->memory;
    a->t.device = (DLDevice){kDLCPU, 0};
    a->t.byte_offset = 0;
    a->t.shape = a->dims;
    a->t.strides = a->dims + like->ndim;
    for (int d = like->ndim - 1; d >= 0; d--) {
        a->t.shape[d] = like->shape[d];
        a->t.strides[d] = stride;
        if (n) stride *= like->shape[d];
    }
    return true;
}

void data_free(Array *a) {
    free(a->block);
    free(a->dims);
    *a = (Array){0};
}

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

// Each tensor has its own random sequence, so that giving one as a file does not change the others.
// Floats are uniform in [-1, 1), integers small, subscripts valid.
void data_random(Array *a, uint64_t seed, const char *name, bool index, int64_t lo, int64_t hi) {
    DLDataType t = a->t.dtype;
    uint64_t state = seed;
    for (const char *s = name; *s; s++) state = (state ^ (unsigned char)*s) * 0x100000001b3u;
    if (!index || lo > hi) lo = t.code == kDLInt && !index ? -4 : 0, hi = t.code == kDLBool ? 1 : 4;
    uint64_t span = (uint64_t)hi - (uint64_t)lo + 1;
    char *p = a->memory;
    for (int64_t i = 0, n = data_elements(&a->t); i < n; i++, p += t.bits / 8) {
        uint64_t r = next_random(&state);
        if (is_float(t))
            store_float(t, p, (double)(int64_t)(r >> 40) / (1 << 23) - 1.0);
        else
            store_int(t, p, lo + (int64_t)(span ? r % span : r));
    }
}

bool data_number(Array *a, const char *text) {
    char *end;
    DLDataType t = a->t.dtype;
    if (is_float(t)) {
        double value = strtod(text, &end);
        store_float(t, a->memory, value);
        return end != text && !*end;
    }
    if (t.code == kDLBool && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        text = *text == 't' ? "1" : "0";
    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    if (errno == ERANGE && t.code == kDLUInt && t.bits == 64 && *text != '-') {
        errno = 0;
        value = (int64_t)strtoull(text, &end, 10);
        store_int(t, a->memory, value);
        return !errno && end != text && !*end;
    }
    store_int(t, a->memory, value);
    return !errno && end != text && !*end && int_fits(t, value);
}

bool data_integer(const Array *a, int64_t *value) {
    if (a->t.ndim != 0 || is_float(a->t.dtype)) return false;
    *value = load_int(a->t.dtype, a->memory);
    return true;
}

// --- Summaries -----------------------------------------------------------------------------------

// FNV-1a over the elements' bytes; -0 and 0 differ, and so do kinds of NaN.
uint64_t data_checksum(const DLTensor *t) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    const unsigned char *p = t->data;
    for (int64_t n = data_elements(t) * (t->dtype.bits / 8); n > 0; n--)
        h = (h ^ *p++) * UINT64_C(0x100000001b3);
    return h;
}

// The shortest decimal that reads back as the same element.
static void value_text(DLDataType t, const char *p, char *out, size_t size) {
    if (!is_float(t)) {
        int64_t i = load_int(t, p);
        snprintf(out, size, t.code == kDLUInt ? "%llu" : "%lld", (unsigned long long)i);
        return;
    }
    double v = load_float(t, p);
    if (fabs(v) < 1e6 && v == trunc(v)) {
        snprintf(out, size, "%.0f", v);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        char back[8];
        snprintf(out, size, "%.*g", digits, v);
        store_float(t, back, strtod(out, NULL));
        if (memcmp(back, p, t.bits / 8u) == 0 || isnan(v)) return;
    }
}

char *data_values(const DLTensor *t, int count) {
    int64_t n = data_elements(t);
    size_t len = 0, size = (size_t)count * 40 + 16;
    char *text = cli_alloc(size);
    if (t->ndim) len += (size_t)snprintf(text, size, "[");
    for (int64_t i = 0; i < n && i < count; i++) {
        char value[40];
        value_text(t->dtype, (const char *)t->data + i * (t->dtype.bits / 8), value, sizeof value);
        len += (size_t)snprintf(text + len, size - len, "%s%s", i ? ", " : "", value);
    }
    if (n > count) len += (size_t)snprintf(text + len, size - len, ", ...");
    if (t->ndim) snprintf(text + len, size - len, "]");
    return text;
}

void json_data(Json *j, const DLTensor *t, int count) {
    char checksum[20];
    snprintf(checksum, sizeof checksum, "%016llx", (unsigned long long)data_checksum(t));
    json_str(j, "checksum", checksum);
    json_open(j, "values", '[');
    for (int64_t i = 0, n = data_elements(t); i < n && i < count; i++) {
        const char *p = (const char *)t->data + i * (t->dtype.bits / 8);
        if (is_float(t->dtype))
            json_num(j, NULL, load_float(t->dtype, p));
        else if (t->dtype.code == kDLBool)
            json_bool(j, NULL, *p != 0);
        else
            json_int(j, NULL, load_int(t->dtype, p));
    }
    json_close(j, ']');
}
