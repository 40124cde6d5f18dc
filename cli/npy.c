// NumPy's .npy format, versions 1 to 3: a magic string, a header that is the text of a Python
// dictionary, and the elements.
//
//     \x93NUMPY  major minor  length (2 bytes, or 4 from version 2)
//     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   padded with blanks, newline
//     data
//
// All reads are bounds-checked; an inconsistent file is an error that names the problem.
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DIMS = 32 };

typedef struct Header {
    DLDataType dtype;
    bool fortran, raw16; // raw16: 2-byte elements without a type of their own
    int ndim;
    int64_t shape[MAX_DIMS];
    bool has_descr, has_order, has_shape;
} Header;

// --- The header's text ---------------------------------------------------------------------------

typedef struct Cursor {
    const char *at, *end;
} Cursor;

static void blanks(Cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t')) c->at++;
}

static bool take(Cursor *c, const char *word) {
    size_t n = strlen(word);
    blanks(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return false;
    c->at += n;
    return true;
}

static bool take_string(Cursor *c, char *into, size_t size) {
    blanks(c);
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) return false;
    char quote = *c->at++;
    size_t n = 0;
    while (c->at < c->end && *c->at != quote && n + 1 < size) into[n++] = *c->at++;
    into[n] = 0;
    if (c->at >= c->end || *c->at != quote) return false;
    c->at++;
    return true;
}

static bool take_int(Cursor *c, int64_t *into) {
    blanks(c);
    const char *from = c->at;
    int64_t v = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *c->at - '0', &v))
            return false;
    *into = v;
    if (c->at == from) return false;
    if (c->at < c->end && *c->at == 'L') c->at++; // Python 2 wrote long integers this way
    return true;
}

static char *take_shape(Cursor *c, Header *h) {
    if (!take(c, "(")) return cli_printf("its shape is not a tuple");
    while (!take(c, ")")) {
        if (h->ndim == MAX_DIMS) return cli_printf("it has more than %d dimensions", MAX_DIMS);
        if (!take_int(c, &h->shape[h->ndim++])) return cli_printf("its shape cannot be read");
        if (!take(c, ",") && !(c->at < c->end && *c->at == ')'))
            return cli_printf("its shape cannot be read");
    }
    h->has_shape = true;
    return NULL;
}

// '<f4': byte order, kind, bytes.
static char *take_descr(Cursor *c, Header *h) {
    char descr[64];
    if (!take_string(c, descr, sizeof descr))
        return cli_printf("its elements are records or cannot be read; plain numbers are wanted");
    char order = strchr("<>|=", descr[0]) && descr[0] ? descr[0] : '=';
    const char *kind = strchr("<>|=", descr[0]) && descr[0] ? descr + 1 : descr;
    static const struct {
        const char *name;
        uint8_t code, bits;
    } types[] = {{"b1", kDLBool, 8},  {"?", kDLBool, 8},    {"i1", kDLInt, 8},
                 {"i2", kDLInt, 16},  {"i4", kDLInt, 32},   {"i8", kDLInt, 64},
                 {"u1", kDLUInt, 8},  {"u2", kDLUInt, 16},  {"u4", kDLUInt, 32},
                 {"u8", kDLUInt, 64}, {"f2", kDLFloat, 16}, {"f4", kDLFloat, 32},
                 {"f8", kDLFloat, 64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(kind, types[i].name) == 0)
            h->dtype = (DLDataType){types[i].code, types[i].bits, 1};
    if (strcmp(kind, "V2") == 0) h->dtype = (DLDataType){kDLUInt, 16, 1}, h->raw16 = true;
    if (strcmp(kind, "bfloat16") == 0) h->dtype = (DLDataType){kDLBfloat, 16, 1};
    if (h->dtype.lanes == 0) return cli_printf("elements of type '%s' are not supported", descr);
    if (order == '>' && h->dtype.bits > 8)
        return cli_printf("its elements are big-endian ('%s'); save it with "
                          "a.astype(a.dtype.newbyteorder('<'))",
                          descr);
    h->has_descr = true;
    return NULL;
}

static char *take_member(Cursor *c, Header *h) {
    char key[32];
    if (!take_string(c, key, sizeof key) || !take(c, ":"))
        return cli_printf("its header cannot be read");
    if (strcmp(key, "descr") == 0) return take_descr(c, h);
    if (strcmp(key, "shape") == 0) return take_shape(c, h);
    if (strcmp(key, "fortran_order") != 0) return cli_printf("its header has an unknown '%s'", key);
    h->has_order = true;
    if (take(c, "True"))
        h->fortran = true;
    else if (!take(c, "False"))
        return cli_printf("its fortran_order is neither True nor False");
    return NULL;
}

static char *read_header(Cursor c, Header *h) {
    if (!take(&c, "{")) return cli_printf("its header is not a dictionary");
    while (!take(&c, "}")) {
        char *wrong = take_member(&c, h);
        if (wrong) return wrong;
        if (!take(&c, ",") && !(c.at < c.end && *c.at == '}'))
            return cli_printf("its header cannot be read");
    }
    blanks(&c);
    if (c.at != c.end || !h->has_descr || !h->has_order || !h->has_shape)
        return cli_printf("its header is not complete");
    return NULL;
}

// --- Whole files ---------------------------------------------------------------------------------

static char *take_data(const Header *h, const unsigned char *data, size_t len, bool want_bf16,
                       size_t number, Array *into) {
    DLDataType dtype = h->dtype;
    if (h->raw16 && !want_bf16) return cli_printf("elements of type 'V2' are not supported here");
    if (want_bf16 && dtype.code == kDLUInt && dtype.bits == 16) dtype.code = kDLBfloat;
    size_t bytes = dtype.bits / 8u;
    bool empty = false;
    for (int d = 0; d < h->ndim; d++) empty = empty || h->shape[d] == 0;
    for (int d = 0; d < h->ndim && !empty; d++)
        if (__builtin_mul_overflow(bytes, (size_t)h->shape[d], &bytes))
            return cli_printf("its shape overflows");
    if (empty) bytes = 0;
    if (len != bytes)
        return cli_printf("it holds %zu bytes of data, but its shape and type ask for %zu", len,
                          bytes);
    DLTensor like = {.ndim = h->ndim, .dtype = dtype, .shape = (int64_t *)h->shape};
    if (!data_new(into, &like, number)) return cli_printf("it is too large");
    if (bytes) memcpy(into->memory, data, bytes);
    if (!h->fortran) return NULL;
    int64_t stride = 1;
    for (int d = 0; d < h->ndim; d++) {
        into->t.strides[d] = stride;
        if (!empty) stride *= h->shape[d];
    }
    return NULL;
}

char *npy_parse(const unsigned char *bytes, size_t len, bool want_bf16, size_t number,
                Array *into) {
    *into = (Array){0};
    if (len < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0) return cli_printf("it is not a .npy file");
    if (bytes[6] < 1 || bytes[6] > 3)
        return cli_printf("version %d of the format is not known", bytes[6]);
    size_t prefix = bytes[6] == 1 ? 10 : 12;
    if (len < prefix) return cli_printf("it ends inside its header");
    size_t header = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1) header |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (header > len - prefix) return cli_printf("it ends inside its header");
    Header h = {0};
    const char *text = (const char *)bytes + prefix;
    char *wrong = read_header((Cursor){text, text + header}, &h);
    if (wrong) return wrong;
    return take_data(&h, bytes + prefix + header, len - prefix - header, want_bf16, number, into);
}

static char *read_bytes(const char *path, unsigned char **bytes, size_t *len) {
    *bytes = NULL;
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) != 0) {
        char *wrong = cli_printf("%s", strerror(errno));
        if (f) fclose(f);
        return wrong;
    }
    char *wrong = NULL;
    if (!S_ISREG(st.st_mode)) wrong = cli_printf("it is not a regular file");
    size_t size = (size_t)st.st_size;
    if (!wrong) *bytes = malloc(size + 1);
    if (!wrong && !*bytes) wrong = cli_printf("it is too large");
    if (!wrong && (*len = fread(*bytes, 1, size, f)) != size)
        wrong = cli_printf("it could not be read to its end");
    fclose(f);
    return wrong;
}

char *npy_read(const char *path, bool want_bf16, size_t number, Array *into) {
    unsigned char *bytes;
    size_t len = 0;
    *into = (Array){0};
    char *wrong = read_bytes(path, &bytes, &len);
    if (!wrong) wrong = npy_parse(bytes, len, want_bf16, number, into);
    free(bytes);
    if (!wrong) return NULL;
    char *full = cli_printf("cannot read '%s': %s", path, wrong);
    free(wrong);
    return full;
}

static char *header_text(const DLTensor *t) {
    char kind = t->dtype.code == kDLBool    ? 'b'
                : t->dtype.code == kDLInt   ? 'i'
                : t->dtype.code == kDLFloat ? 'f'
                                            : 'u';
    char dims[MAX_DIMS * 24] = "";
    size_t n = 0;
    for (int d = 0; d < t->ndim; d++)
        n += (size_t)snprintf(dims + n, sizeof dims - n, "%s%lld", d ? ", " : "",
                              (long long)t->shape[d]);
    return cli_printf("{'descr': '%c%c%d', 'fortran_order': False, 'shape': (%s%s), }",
                      t->dtype.bits == 8 ? '|' : '<', kind, t->dtype.bits / 8, dims,
                      t->ndim == 1 ? "," : "");
}

// Outputs are compact, so the data are contiguous.
void npy_write(FILE *f, const DLTensor *t) {
    char *text = header_text(t);
    size_t len = strlen(text), pad = 63 - (10 + len) % 64;
    unsigned short total = (unsigned short)(len + pad + 1);
    unsigned char prefix[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)total, (unsigned char)(total >> 8)};
    size_t bytes = (size_t)data_elements(t) * (t->dtype.bits / 8u);
    fwrite(prefix, 1, sizeof prefix, f);
    fprintf(f, "%s%*s\n", text, (int)pad, "");
    if (bytes) fwrite(t->data, 1, bytes, f);
    free(text);
}
