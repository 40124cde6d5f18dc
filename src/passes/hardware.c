// The parser of machine descriptions; see hardware.h.
//
// A text consists of lines of words; `//` begins a comment. The first word of a line is its kind.
// `key=value` words are attributes, checked against hardware.def, or parameters, checked against
// passes.def.
#include "passes/hardware_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/nearest.h"

const char *const hardware_line[LINE_KINDS] = {"memory",  "compute", "transfer", "stencil", "index",
                                               "machine", "include", "pass",     "set",     "drop"};

typedef MemoryUnit Of_MEMORY;
typedef ComputeUnit Of_COMPUTE;
typedef Transfer Of_TRANSFER;
typedef Stencil Of_STENCIL;
typedef StencilIndex Of_INDEX;

const Attr hardware_attrs[ATTRS] = {
#define ATTR(line, key, kind, member, least, most, unset, what)                                    \
    {LINE_##line, #key, ATTR_##kind, offsetof(Of_##line, member), least, most, unset},
#include "passes/hardware.def"
#undef ATTR
};

typedef struct HardwareWord {
    const char *s;
    size_t len;
    Range range;
} HardwareWord;

typedef struct HardwareReader {
    Arena *arena;
    Names *names;
    const Source *source;
    HardwareInclude *include;
    void *user;
    DiagList *diags;
    Hardware *h;
    VEC(HardwareWord) word; // words of the current line
    int depth;              // nesting depth of includes
    int stencil;            // the stencil that index lines belong to; -1: none
    Range stencil_at;       // its line's first word
    bool indexed;           // it has had an index line
    bool named;             // the outermost text has had a `machine` line
} HardwareReader;

// --- Words ---------------------------------------------------------------------------------------

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Reads the words of the line that begins at `at`; returns the start of the next line.
static uint32_t read_line(HardwareReader *r, uint32_t at) {
    const char *s = r->source->text;
    uint32_t end = at, len = r->source->len;
    while (end < len && s[end] != '\n') end++;
    r->word.n = 0;
    while (at < end) {
        uint32_t from = at;
        if (blank(s[at])) {
            at++;
            continue;
        }
        if (s[at] == '/' && at + 1 < end && s[at + 1] == '/') break;
        bool quoted = s[at] == '"';
        for (at++; at < end && (quoted ? s[at] != '"' : !blank(s[at])); at++) continue;
        if (quoted && at < end) at++;
        HardwareWord w = {s + from, at - from, {from, at}};
        vec_push(r->arena, &r->word, w);
    }
    return end + 1;
}

static bool is_name(const HardwareWord *w) {
    for (size_t i = 0; i < w->len; i++) {
        char c = w->s[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool later = (c >= '0' && c <= '9') || c == '-' || c == '.';
        if (!letter && !(i && later)) return false;
    }
    return w->len > 0;
}

static char *text_of(HardwareReader *r, const HardwareWord *w) {
    return arena_strndup(r->arena, w->s, w->len);
}

static Diag *expected(HardwareReader *r, const HardwareWord *w, const char *what) {
    if (w) return diag_report(r->diags, w->range, DIAG_TEXT_EXPECTED, what, (int)w->len, w->s);
    Range end = vec_last(&r->word).range;
    return diag_report(r->diags, (Range){end.to, end.to}, DIAG_HARDWARE_LINE_END, what);
}

// The name at the second word of the line; NULL after an error.
static Name name_word(HardwareReader *r, const char *what) {
    const HardwareWord *w = r->word.n > 1 ? &r->word.at[1] : NULL;
    if (w && is_name(w)) return name_intern(r->names, w->s, w->len);
    expected(r, w, what);
    return NULL;
}

// Splits key=value; false after an error.
static bool split(HardwareReader *r, const HardwareWord *w, HardwareWord *key,
                  HardwareWord *value) {
    const char *equals = memchr(w->s, '=', w->len);
    if (!equals) {
        expected(r, w, "KEY=VALUE");
        return false;
    }
    uint32_t k = (uint32_t)(equals - w->s);
    *key = (HardwareWord){w->s, k, {w->range.from, w->range.from + k}};
    *value = (HardwareWord){equals + 1, w->len - k - 1, {w->range.from + k + 1, w->range.to}};
    return true;
}

static bool same(const HardwareWord *w, const char *s) {
    return strlen(s) == w->len && memcmp(w->s, s, w->len) == 0;
}

static Diag *unknown(HardwareReader *r, const HardwareWord *w, const char *what) {
    return diag_report(r->diags, w->range, DIAG_TEXT_UNKNOWN, what, text_of(r, w));
}

// --- Values --------------------------------------------------------------------------------------

// A number with an optional unit of bytes: 12, 1.5, 192KiB.
static bool read_number(const HardwareWord *w, bool bytes, double *out) {
    static const char *const unit[] = {"KiB", "MiB", "GiB", "B"};
    static const double factor[] = {1024, 1048576, 1073741824, 1};
    size_t len = w->len;
    double scale = 1;
    for (int i = 0; bytes && i < 4 && scale == 1; i++) {
        size_t n = strlen(unit[i]);
        if (len <= n || memcmp(w->s + len - n, unit[i], n) != 0) continue;
        scale = factor[i];
        len -= n;
        break;
    }
    if (!text_parse_float(w->s, len, false, out)) return false;
    *out *= scale;
    return *out == *out && *out < 9e18 && *out > -9e18;
}

static void out_of_range(HardwareReader *r, const HardwareWord *key, const HardwareWord *value,
                         double least, double most) {
    Text text = {.arena = r->arena};
    text_printf(&text, "from %.15g", least);
    if (most < 9e18) text_printf(&text, " to %.15g", most);
    diag_report(r->diags, value->range, DIAG_HARDWARE_RANGE, text_of(r, key), text_of(r, value),
                text_str(&text));
}

// A whole number in the range, or a real one; false after an error.
static bool number(HardwareReader *r, const HardwareWord *key, const HardwareWord *value,
                   bool bytes, bool whole, double least, double most, double *out) {
    if (!read_number(value, bytes, out) || (whole && *out != (double)(int64_t)*out)) {
        expected(r, value, bytes ? "a size such as 192KiB" : whole ? "a whole number" : "a number");
        return false;
    }
    if (*out >= least && *out <= most) return true;
    out_of_range(r, key, value, least, most);
    return false;
}

static const char *memory_at(const void *of, size_t i) {
    const Hardware *h = of;
    return (int)i < h->memory.n ? h->memory.at[i].name : NULL;
}
static const char *compute_at(const void *of, size_t i) {
    const Hardware *h = of;
    return (int)i < h->compute.n ? h->compute.at[i].name : NULL;
}
static const char *transfer_at(const void *of, size_t i) {
    const Hardware *h = of;
    return (int)i < h->transfer.n ? h->transfer.at[i].name : NULL;
}
static const char *stencil_at(const void *of, size_t i) {
    const Hardware *h = of;
    return (int)i < h->stencil.n ? h->stencil.at[i].name : NULL;
}

int hardware_memory(const Hardware *h, Name name) {
    for (int i = 0; i < h->memory.n; i++)
        if (strcmp(h->memory.at[i].name, name) == 0) return i;
    return -1;
}

int hardware_compute(const Hardware *h, Name name) {
    for (int i = 0; i < h->compute.n; i++)
        if (strcmp(h->compute.at[i].name, name) == 0) return i;
    return -1;
}

int hardware_transfer(const Hardware *h, Name name) {
    for (int i = 0; i < h->transfer.n; i++)
        if (strcmp(h->transfer.at[i].name, name) == 0) return i;
    return -1;
}

const Stencil *hardware_stencil(const Hardware *h, const char *name, size_t len) {
    for (int i = 0; i < h->stencil.n; i++)
        if (strlen(h->stencil.at[i].name) == len && !memcmp(h->stencil.at[i].name, name, len))
            return &h->stencil.at[i];
    return NULL;
}

// The units that a name may refer to: all except the one that the line declares.
typedef struct OtherUnits {
    const Hardware *h;
    bool memory;
    const void *self; // NULL: none
} OtherUnits;

static const char *other_at(const void *of, size_t i) {
    const OtherUnits *o = of;
    for (int k = 0; k < (o->memory ? o->h->memory.n : o->h->compute.n); k++) {
        const void *unit = o->memory ? (const void *)&o->h->memory.at[k] : &o->h->compute.at[k];
        if (unit != o->self && i-- == 0)
            return (o->memory ? memory_at : compute_at)(o->h, (size_t)k);
    }
    return NULL;
}

// The number of a unit; -1 after an error. `self` is the unit that the line declares.
static int unit_of(HardwareReader *r, const HardwareWord *w, bool memory, const void *self) {
    const char *name = text_of(r, w);
    int i = memory ? hardware_memory(r->h, name) : hardware_compute(r->h, name);
    if (i < 0)
        diag_suggest(r->diags, unknown(r, w, memory ? "memory unit" : "compute unit"), name,
                     other_at, &(OtherUnits){r->h, memory, self});
    return i;
}

static int transfer_of(HardwareReader *r, const HardwareWord *w) {
    const char *name = text_of(r, w);
    int i = hardware_transfer(r->h, name);
    if (i < 0) diag_suggest(r->diags, unknown(r, w, "transfer engine"), name, transfer_at, r->h);
    return i;
}

static bool read_type(HardwareReader *r, const HardwareWord *w, int64_t *out) {
    for (int t = 0; t < TYPE_COUNT; t++)
        if (type_info[t].name && same(w, type_info[t].name)) {
            *out = t;
            return true;
        }
    unknown(r, w, "type");
    return false;
}

static bool read_strides(HardwareReader *r, const HardwareWord *w, Strides *out) {
    Strides s = {0};
    for (size_t at = 0; at <= w->len; at++) {
        size_t end = at;
        while (end < w->len && w->s[end] != ',') end++;
        HardwareWord one = {
            w->s + at, end - at, {w->range.from + (uint32_t)at, w->range.from + (uint32_t)end}};
        bool any = same(&one, "any");
        if ((!any && !same(&one, "0") && !same(&one, "1")) || s.n == STENCIL_MAX_TENSORS) {
            expected(r, &one, "strides 0, 1 or any, joined by commas");
            return false;
        }
        s.at[s.n++] = any ? STRIDE_ANY : (signed char)(one.s[0] - '0');
        at = end;
    }
    *out = s;
    return true;
}

static bool read_attr(HardwareReader *r, const Attr *a, const HardwareWord *key,
                      const HardwareWord *value, void *into) {
    char *at = (char *)into + a->at;
    double x;
    switch (a->kind) {
    case ATTR_MEMORY:
    case ATTR_COMPUTE: {
        int unit = unit_of(r, value, a->kind == ATTR_MEMORY, into);
        if (unit >= 0) *(int64_t *)at = unit;
        return unit >= 0;
    }
    case ATTR_TYPE: return read_type(r, value, (int64_t *)at);
    case ATTR_STRIDES: return read_strides(r, value, (Strides *)at);
    case ATTR_REAL: return number(r, key, value, false, false, a->least, a->most, (double *)at);
    case ATTR_FLAG:
        *(int64_t *)at = same(value, "yes");
        if (!same(value, "yes") && !same(value, "no")) expected(r, value, "yes or no");
        return same(value, "yes") || same(value, "no");
    case ATTR_EXTENT:
        if (same(value, "any")) {
            *(int64_t *)at = -1;
            return true;
        } // fall through
    case ATTR_BYTES:
    case ATTR_COUNT:
        if (!number(r, key, value, a->kind == ATTR_BYTES, true, a->least, a->most, &x))
            return false;
        *(int64_t *)at = (int64_t)x;
        return true;
    }
    return false;
}

static const char *attr_key(const void *of, size_t i) {
    for (int k = 0; k < ATTRS; k++)
        if (hardware_attrs[k].line == *(const LineKind *)of && i-- == 0)
            return hardware_attrs[k].key;
    return NULL;
}

static void read_attrs(HardwareReader *r, LineKind line, void *into) {
    for (int i = 2; i < r->word.n; i++) {
        HardwareWord key, value;
        if (!split(r, &r->word.at[i], &key, &value)) return;
        int k = 0;
        while (k < ATTRS && !(hardware_attrs[k].line == line && same(&key, hardware_attrs[k].key)))
            k++;
        if (k == ATTRS) {
            diag_suggest(r->diags, unknown(r, &key, "attribute"), text_of(r, &key), attr_key,
                         &line);
            return;
        }
        if (!read_attr(r, &hardware_attrs[k], &key, &value, into)) return;
    }
}

static void set_defaults(LineKind line, void *into) {
    for (int k = 0; k < ATTRS; k++) {
        char *at = (char *)into + hardware_attrs[k].at;
        if (hardware_attrs[k].line != line) continue;
        if (hardware_attrs[k].kind == ATTR_REAL)
            *(double *)at = (double)hardware_attrs[k].unset;
        else if (hardware_attrs[k].kind != ATTR_STRIDES)
            *(int64_t *)at = hardware_attrs[k].unset;
    }
}

// --- Units ---------------------------------------------------------------------------------------

// Finds the unit of that name, or adds one with the defaults, and reads its attributes.
#define READ_UNIT(list, line, what)                                                                \
    do {                                                                                           \
        Name name = name_word(r, what);                                                            \
        if (!name) return;                                                                         \
        int at = 0;                                                                                \
        while (at < r->h->list.n && r->h->list.at[at].name != name) at++;                          \
        if (at == r->h->list.n) {                                                                  \
            vec_reserve(r->arena, &r->h->list, 1);                                                 \
            memset(&r->h->list.at[at], 0, sizeof *r->h->list.at);                                  \
            r->h->list.at[at].name = name;                                                         \
            set_defaults(line, &r->h->list.at[at]);                                                \
            r->h->list.n++;                                                                        \
        }                                                                                          \
        read_attrs(r, line, &r->h->list.at[at]);                                                   \
    } while (0)

static void read_memory(HardwareReader *r) {
    READ_UNIT(memory, LINE_MEMORY, "the name of a memory unit");
    for (int i = 0; i < r->h->memory.n; i++) {
        int up = i, steps = 0;
        while (up >= 0 && steps++ <= r->h->memory.n) up = (int)r->h->memory.at[up].in;
        if (up >= 0) {
            diag_report(r->diags, r->word.at[0].range, DIAG_HARDWARE_INSIDE,
                        r->h->memory.at[i].name);
            return;
        }
    }
    if (!r->diags->errors) hardware_owners_are_good(r->h, r->word.at[0].range, r->diags);
}
static void read_compute(HardwareReader *r) {
    READ_UNIT(compute, LINE_COMPUTE, "the name of a compute unit");
    for (int i = 0; i < r->h->compute.n; i++) {
        int up = i, steps = 0;
        while (up >= 0 && steps++ <= r->h->compute.n) up = (int)r->h->compute.at[up].of;
        if (up >= 0) {
            diag_report(r->diags, r->word.at[0].range, DIAG_HARDWARE_INSIDE,
                        r->h->compute.at[i].name);
            return;
        }
    }
    if (!r->diags->errors) hardware_owners_are_good(r->h, r->word.at[0].range, r->diags);
}
static void read_transfer(HardwareReader *r) {
    READ_UNIT(transfer, LINE_TRANSFER, "the name of a transfer engine");
    const Transfer *t = &r->h->transfer.at[hardware_transfer(r->h, text_of(r, &r->word.at[1]))];
    if (r->diags->errors) return;
    if (t->from < 0 || t->to < 0)
        diag_report(r->diags, r->word.at[0].range, DIAG_HARDWARE_NEEDS, t->name, "from= and to=");
    else if (t->from == t->to)
        diag_report(r->diags, r->word.at[0].range, DIAG_HARDWARE_STAYS, t->name,
                    r->h->memory.at[t->from].name);
}

// The indices of a stencil follow its line. They replace those of an earlier stencil of that name;
// if none follow, these stay.
static void read_stencil(HardwareReader *r) {
    READ_UNIT(stencil, LINE_STENCIL, "the name of a stencil");
    for (int i = 0; i < r->h->stencil.n; i++)
        if (same(&r->word.at[1], r->h->stencil.at[i].name)) r->stencil = i;
    r->stencil_at = r->word.at[0].range;
    r->indexed = false;
}

// Ends the list of indices of the stencil, if there is one; reports an empty list.
static void end_stencil(HardwareReader *r) {
    const Stencil *s = r->stencil >= 0 ? &r->h->stencil.at[r->stencil] : NULL;
    if (s && !s->nindex && !r->diags->errors)
        diag_report(r->diags, r->stencil_at, DIAG_HARDWARE_NEEDS, s->name, "lines 'index NAME'");
    r->stencil = -1;
}

// Reports strides that are missing, or of another number of inputs than those of the first index.
static void check_index(HardwareReader *r, const Stencil *s, const StencilIndex *i) {
    Range at = r->word.at[0].range;
    const StencilIndex *first = &s->index[0];
    if (r->diags->errors) return;
    if (i->out.n != 1 || i->in_.n < 1)
        diag_report(r->diags, at, DIAG_HARDWARE_NEEDS, i->name,
                    "out= of the output and in= of each input");
    else if (i->in_.n != first->in_.n)
        diag_report(r->diags, at, DIAG_HARDWARE_INPUTS, i->name, i->in_.n, first->name,
                    first->in_.n);
}

static void read_index(HardwareReader *r) {
    Name name = name_word(r, "the name of an index");
    if (!name) return;
    Stencil *s = r->stencil >= 0 ? &r->h->stencil.at[r->stencil] : NULL;
    if (s && !r->indexed) s->nindex = 0;
    r->indexed = true;
    if (!s || s->nindex == STENCIL_MAX_INDICES) {
        diag_report(r->diags, r->word.at[0].range, DIAG_HARDWARE_INDEX, STENCIL_MAX_INDICES);
        return;
    }
    for (int k = 0; k < s->nindex; k++)
        if (s->index[k].name == name) {
            diag_report(r->diags, r->word.at[1].range, DIAG_TEXT_DUPLICATE, name);
            return;
        }
    StencilIndex *i = &s->index[s->nindex++];
    *i = (StencilIndex){.name = name};
    set_defaults(LINE_INDEX, i);
    read_attrs(r, LINE_INDEX, i);
    check_index(r, s, i);
}

// --- Passes --------------------------------------------------------------------------------------

const PassInfo *pass_find(const char *name) {
    for (int i = 0; i < pass_count; i++)
        if (strcmp(pass_info[i].name, name) == 0) return &pass_info[i];
    return NULL;
}

static const char *pass_at(const void *of, size_t i) {
    (void)of;
    return (int)i < pass_count ? pass_info[i].name : NULL;
}
static const char *param_at(const void *of, size_t i) {
    const PassInfo *p = of;
    return (int)i < pass_params(p) ? p->param[i].name : NULL;
}
static const char *label_at(const void *of, size_t i) {
    const Hardware *h = of;
    return (int)i < h->pass.n ? h->pass.at[i].label : NULL;
}

static int find_label(const Hardware *h, const char *label) {
    for (int i = 0; i < h->pass.n; i++)
        if (strcmp(h->pass.at[i].label, label) == 0) return i;
    return -1;
}

// "#tile,#stencil=mac16"
static bool tags_are_good(const HardwareWord *w) {
    for (size_t at = 0, len; at <= w->len; at += len + 1) {
        const char *tag = w->s + at;
        for (len = 0; at + len < w->len && tag[len] != ',';) len++;
        const char *equals = memchr(tag, '=', len);
        size_t name = equals ? (size_t)(equals - tag) : len;
        HardwareWord word = {tag + 1, name - 1, w->range},
                     value = {tag + name + 1, len - name - 1, w->range};
        if (len < 2 || *tag != '#' || name < 2 || !is_name(&word)) return false;
        if (equals && !is_name(&value)) return false;
    }
    return true;
}

static bool stencils_are_good(HardwareReader *r, const HardwareWord *w) {
    for (size_t at = 0; at <= w->len; at++) {
        size_t end = at;
        while (end < w->len && w->s[end] != ',') end++;
        if (!hardware_stencil(r->h, w->s + at, end - at)) {
            HardwareWord one = {w->s + at, end - at, w->range};
            diag_suggest(r->diags, unknown(r, &one, "stencil"), text_of(r, &one), stencil_at, r->h);
            return false;
        }
        at = end;
    }
    return true;
}

static bool read_param(HardwareReader *r, const PassParam *p, const HardwareWord *key,
                       const HardwareWord *value, PassValue *out) {
    PassValue v = {.given = true, .text = text_of(r, value)};
    bool ok = true;
    switch (p->kind) {
    case PASS_INT:
    case PASS_BYTES:
    case PASS_REAL:
        ok = number(r, key, value, p->kind == PASS_BYTES, p->kind != PASS_REAL, p->least, p->most,
                    &v.number);
        break;
    case PASS_FLAG:
        v.number = same(value, "yes");
        ok = v.number != 0 || same(value, "no");
        if (!ok) expected(r, value, "yes or no");
        break;
    case PASS_TAGS:
        ok = tags_are_good(value);
        if (!ok) expected(r, value, "tags such as #tile,#inner");
        break;
    case PASS_MEMORY:
    case PASS_COMPUTE:
    case PASS_TRANSFER:
        v.number = p->kind == PASS_TRANSFER ? transfer_of(r, value)
                                            : unit_of(r, value, p->kind == PASS_MEMORY, NULL);
        ok = v.number >= 0;
        break;
    case PASS_STENCIL: ok = stencils_are_good(r, value); break;
    case PASS_NAME:
        ok = is_name(value);
        if (!ok) expected(r, value, "a name");
        break;
    }
    if (ok) *out = v;
    return ok;
}

// Reads parameters from word `from` on. `before`, if not NULL, receives the label of before=.
static void read_params(HardwareReader *r, int from, PassCall *c, Name *before) {
    for (int i = from; i < r->word.n; i++) {
        HardwareWord key, value;
        int k = 0;
        if (!split(r, &r->word.at[i], &key, &value)) return;
        if (before && same(&key, "as")) {
            if (!is_name(&value)) {
                expected(r, &value, "a name");
                return;
            }
            c->label = name_intern(r->names, value.s, value.len);
            if (find_label(r->h, c->label) < 0) continue;
            diag_report(r->diags, value.range, DIAG_TEXT_DUPLICATE, c->label);
            return;
        }
        if (before && same(&key, "before")) {
            *before = name_intern(r->names, value.s, value.len);
            if (find_label(r->h, *before) >= 0) continue;
            diag_suggest(r->diags, unknown(r, &value, "pass of the list"), *before, label_at, r->h);
            return;
        }
        while (k < pass_params(c->pass) && !same(&key, c->pass->param[k].name)) k++;
        if (k == pass_params(c->pass)) {
            diag_suggest(r->diags, unknown(r, &key, "parameter"), text_of(r, &key), param_at,
                         c->pass);
            return;
        }
        if (!read_param(r, &c->pass->param[k], &key, &value, &c->value[k])) return;
    }
}

static Name free_label(HardwareReader *r, const char *base) {
    const char *label = base;
    for (int i = 2; find_label(r->h, label) >= 0; i++)
        label = arena_printf(r->arena, "%s.%d", base, i);
    return name_of(r->names, label);
}

static void read_pass(HardwareReader *r) {
    Name name = name_word(r, "the name of a pass"), before = NULL;
    if (!name) return;
    PassCall c = {.pass = pass_find(name)};
    if (!c.pass) {
        diag_suggest(r->diags, unknown(r, &r->word.at[1], "pass"), name, pass_at, NULL);
        return;
    }
    for (int k = 0; k < pass_params(c.pass); k++)
        c.value[k] = (PassValue){.number = c.pass->param[k].value, .text = ""};
    read_params(r, 2, &c, &before);
    if (r->diags->errors) return;
    if (!c.label) c.label = free_label(r, name);
    int at = before ? find_label(r->h, before) : r->h->pass.n;
    vec_push(r->arena, &r->h->pass, c);
    for (int i = r->h->pass.n - 1; i > at; i--) r->h->pass.at[i] = r->h->pass.at[i - 1];
    if (at >= 0) r->h->pass.at[at] = c;
}

static int known_label(HardwareReader *r) {
    Name label = name_word(r, "the label of a pass");
    int at = label ? find_label(r->h, label) : -1;
    if (label && at < 0)
        diag_suggest(r->diags, unknown(r, &r->word.at[1], "pass of the list"), label, label_at,
                     r->h);
    return at;
}

static void read_set(HardwareReader *r) {
    int at = known_label(r);
    if (at >= 0) read_params(r, 2, &r->h->pass.at[at], NULL);
}

static void read_drop(HardwareReader *r) {
    int at = known_label(r);
    if (at < 0) return;
    for (int i = at; i + 1 < r->h->pass.n; i++) r->h->pass.at[i] = r->h->pass.at[i + 1];
    r->h->pass.n--;
}

// --- Texts ---------------------------------------------------------------------------------------

static void read_text(HardwareReader *r, const Source *source);

static void read_machine(HardwareReader *r) {
    Name name = name_word(r, "the name of the machine");
    if (!name) return;
    const HardwareWord *w = r->word.n > 2 ? &r->word.at[2] : NULL;
    if (w && (w->len < 2 || w->s[0] != '"' || w->s[w->len - 1] != '"')) {
        expected(r, w, "a text in double quotes");
        return;
    }
    if (r->depth == 0 && r->named) {
        diag_report(r->diags, r->word.at[0].range, DIAG_HARDWARE_MACHINE, r->h->name);
        return;
    }
    if (r->depth == 0 || !r->h->name) {
        r->h->name = name;
        r->h->summary = w ? arena_strndup(r->arena, w->s + 1, w->len - 2) : "";
    }
    r->named |= r->depth == 0;
}

static const char *shipped_at(const void *of, size_t i) {
    (void)of;
    return shipped_name((int)i);
}

static void read_include(HardwareReader *r) {
    const HardwareWord *w = r->word.n > 1 ? &r->word.at[1] : NULL;
    const char *why = "no such description is shipped, and no file of that name can be read";
    if (!w) {
        expected(r, NULL, "the name of a description");
        return;
    }
    bool quoted = w->s[0] == '"';
    if (quoted && (w->len < 2 || w->s[w->len - 1] != '"')) {
        expected(r, w, "a text in double quotes");
        return;
    }
    const char *name = arena_strndup(r->arena, w->s + quoted, w->len - 2 * (size_t)quoted);
    const char *text = shipped_text(name);
    const Source *from = NULL;
    if (text) {
        Source *s = arena_new(r->arena, Source);
        *s = (Source){name, text, (uint32_t)strlen(text)};
        from = s;
    } else if (r->include) {
        from = r->include(r->user, r->arena, name, r->source, &why);
    }
    if (r->depth >= 8) why = "descriptions include each other more than 8 deep";
    if (!from || r->depth >= 8) {
        Diag *d = diag_report(r->diags, w->range, DIAG_HARDWARE_INCLUDE, name, why);
        if (!from) diag_suggest(r->diags, d, name, shipped_at, NULL);
        return;
    }
    const Source *here = r->source, *shown = r->diags->source;
    r->depth++;
    read_text(r, from);
    r->depth--;
    r->source = here;
    r->diags->source = shown;
}

static const char *line_at(const void *of, size_t i) {
    (void)of;
    return i < LINE_KINDS ? hardware_line[i] : NULL;
}

// Is there a word too many, or a key that occurs twice?
static bool line_is_good(HardwareReader *r, int most) {
    for (int i = 2; i < r->word.n; i++) {
        const HardwareWord *w = &r->word.at[i];
        const char *equals = memchr(w->s, '=', w->len);
        size_t key = equals ? (size_t)(equals - w->s) + 1 : 0;
        for (int k = 2; key && k < i; k++) {
            if (r->word.at[k].len < key || memcmp(r->word.at[k].s, w->s, key)) continue;
            HardwareWord twice = {w->s, key - 1, w->range};
            diag_report(r->diags, w->range, DIAG_HARDWARE_TWICE, text_of(r, &twice));
            return false;
        }
    }
    if (r->word.n > most) expected(r, &r->word.at[most], "the end of the line");
    return r->word.n <= most;
}

static void read_statement(HardwareReader *r) {
    static void (*const read[])(HardwareReader *) = {
        read_memory,  read_compute, read_transfer, read_stencil, read_index,
        read_machine, read_include, read_pass,     read_set,     read_drop};
    const HardwareWord *w = &r->word.at[0];
    for (int k = 0; k < LINE_KINDS; k++)
        if (same(w, hardware_line[k])) {
            int most = read[k] == read_machine                           ? 3
                       : read[k] == read_include || read[k] == read_drop ? 2
                                                                         : r->word.n;
            if (read[k] != read_index) end_stencil(r);
            if (!r->diags->errors && line_is_good(r, most)) read[k](r);
            return;
        }
    diag_suggest(r->diags, unknown(r, w, "line"), text_of(r, w), line_at, NULL);
}

static void read_text(HardwareReader *r, const Source *source) {
    r->source = source;
    r->diags->source = source;
    for (uint32_t at = 0; at < source->len && !r->diags->errors;) {
        at = read_line(r, at);
        if (!r->word.n) continue;
        uint32_t next = at;
        read_statement(r);
        at = next;
    }
    end_stencil(r);
}

const Hardware *hardware_parse(Arena *arena, Names *names, const Source *source,
                               HardwareInclude *include, void *user, DiagList *diags) {
    HardwareReader r = {
        .arena = arena, .names = names, .include = include, .user = user, .diags = diags};
    r.h = arena_new(arena, Hardware);
    r.stencil = -1;
    int before = diags->errors;
    const Source *shown = diags->source;
    read_text(&r, source);
    if (diags->errors == before && !r.named)
        diag_report(diags, (Range){0, 0}, DIAG_HARDWARE_UNNAMED, source->name);
    diags->source = shown;
    return diags->errors == before ? r.h : NULL;
}

bool hardware_is(const char *text) {
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (strncmp(text, "//", 2) != 0) break;
        text += strcspn(text, "\n");
    }
    size_t len = strcspn(text, " \t\r\n");
    return (len == 7 && !strncmp(text, "machine", 7)) || (len == 7 && !strncmp(text, "include", 7));
}
