#include "base/diag.h"

#include <stdio.h>
#include <string.h>

typedef struct DiagRow {
    Severity severity;
    const char *text;
} DiagRow;

static const DiagRow rows[DIAG_COUNT] = {
#define DIAG(id, severity, text) [DIAG_##id] = {SEVERITY_##severity, text},
#include "base/diag.def"
#undef DIAG
};

static Diag *make(DiagList *list, Range range, DiagId id, va_list args) {
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, rows[id].text, args);
    char *text = arena_alloc(list->arena, (size_t)(len < 0 ? 0 : len) + 1);
    if (len > 0) vsnprintf(text, (size_t)len + 1, rows[id].text, again);
    va_end(again);
    Diag *d = arena_new(list->arena, Diag);
    *d = (Diag){.id = id, .severity = rows[id].severity, .range = range, .text = text};
    if (range.to > 0) d->source = list->source;
    return d;
}

Diag *diag_report_va(DiagList *list, Range range, DiagId id, va_list args) {
    Diag *d = make(list, range, id, args);
    if (d->severity == SEVERITY_WARNING && list->strict) d->severity = SEVERITY_ERROR;
    if (d->severity == SEVERITY_ERROR) list->errors++;
    if (d->severity == SEVERITY_WARNING) list->warnings++;
    if (list->items.n < DIAG_MAX)
        vec_push(list->arena, &list->items, d);
    else
        list->dropped++;
    return d;
}

Diag *diag_report(DiagList *list, Range range, DiagId id, ...) {
    va_list args;
    va_start(args, id);
    Diag *d = diag_report_va(list, range, id, args);
    va_end(args);
    return d;
}

bool diag_was_reported(const DiagList *list, Range range, DiagId id) {
    for (int i = 0; i < list->items.n; i++) {
        const Diag *d = list->items.at[i];
        if (d->id == id && d->range.from == range.from && d->range.to == range.to) return true;
    }
    return false;
}

void diag_note(DiagList *list, Diag *d, Range range, DiagId id, ...) {
    va_list args;
    va_start(args, id);
    Diag *note = make(list, range, id, args);
    va_end(args);
    const Diag **last = &d->notes;
    while (*last) last = (const Diag **)&(*last)->next;
    *last = note;
}

void source_skip_mark(Source *s) {
    if (s->len < 3 || memcmp(s->text, "\xef\xbb\xbf", 3) != 0) return;
    s->text += 3;
    s->len -= 3;
}

void source_position(const Source *s, uint32_t at, int *line, int *column) {
    uint32_t start = 0;
    *line = 1;
    if (at > s->len) at = s->len;
    for (uint32_t i = 0; i < at; i++)
        if (s->text[i] == '\n') (*line)++, start = i + 1;
    *column = (int)(at - start) + 1;
}

// The line that holds `from`, then `^~~~` under the range as far as it lies on that line. Tabs and
// bytes that are not printable are shown as blanks, so that the caret is aligned.
static void print_line(Text *out, const Source *s, Range r) {
    uint32_t from = r.from > s->len ? s->len : r.from, start = from, end = from;
    while (start > 0 && s->text[start - 1] != '\n') start--;
    while (end < s->len && s->text[end] != '\n') end++;
    if (from - start > 160) start = from - 80;
    if (end - from > 160) end = from + 160;
    text_add(out, "  ");
    for (uint32_t i = start; i < end; i++) {
        unsigned char c = (unsigned char)s->text[i];
        text_char(out, c < 32 || c == 127 ? ' ' : (char)c);
    }
    text_add(out, "\n  ");
    uint32_t column = 0; // continuation bytes of UTF-8 take no column
    for (uint32_t i = start; i < from; i++) column += (s->text[i] & 0xc0) != 0x80;
    text_fill(out, ' ', (int)column);
    text_char(out, '^');
    for (uint32_t i = from + 1; i < r.to && i < end; i++)
        if ((s->text[i] & 0xc0) != 0x80) text_char(out, '~');
    text_char(out, '\n');
}

static void print_one(Text *out, const Diag *d) {
    static const char *const names[] = {"note", "warning", "error"};
    if (d->source) {
        int line, column;
        source_position(d->source, d->range.from, &line, &column);
        text_printf(out, "%s:%d:%d: ", d->source->name, line, column);
    }
    text_printf(out, "%s: %s\n", names[d->severity], d->text);
    if (d->source) print_line(out, d->source, d->range);
}

void diag_print(Text *out, const Diag *d) {
    print_one(out, d);
    for (const Diag *n = d->notes; n; n = n->next) print_one(out, n);
}
