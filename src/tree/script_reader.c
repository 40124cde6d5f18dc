#include "tree/script_reader.h"

#include <string.h>

// --- Characters ----------------------------------------------------------------------------------

static bool is_word(char c) {
    return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || (unsigned char)c >= 128;
}

char script_peek(Script *t) {
    const char *text = t->src->text;
    while (t->at < t->src->len) {
        char c = text[t->at];
        if (c == '#')
            while (t->at < t->src->len && text[t->at] != '\n') t->at++;
        else if (c == ' ' || c == '\t' || c == '\r')
            t->at++;
        else
            break;
    }
    return t->at < t->src->len ? text[t->at] : '\0';
}

bool script_end(Script *t) {
    char c = script_peek(t);
    return t->at >= t->src->len || c == ';' || c == '\n';
}

bool script_accept(Script *t, char c) {
    if (script_end(t) || script_peek(t) != c) return false;
    t->at++;
    return true;
}

bool script_next(Script *t) {
    while (script_end(t) && t->at < t->src->len) t->at++;
    return !t->failed && t->at < t->src->len;
}

// --- Faults --------------------------------------------------------------------------------------

Diag *script_fault(Script *t, Range range, DiagId id, const char *a, const char *b) {
    t->failed = true;
    return diag_report(t->diags, range, id, a, b);
}

void script_expected(Script *t, const char *what) {
    Range range = {t->at, t->at};
    const char *found = "the end of the action";
    if (!script_end(t)) {
        uint32_t to = t->at;
        while (to < t->src->len && is_word(t->src->text[to])) to++;
        if (to == t->at) to++;
        range = (Range){t->at, to};
        found = arena_printf(t->arena, "'%.*s'", (int)(to - t->at), t->src->text + t->at);
    }
    script_fault(t, range, DIAG_SCHEDULE_EXPECTED, what, found);
}

// --- Words ---------------------------------------------------------------------------------------

Name script_word(Script *t, Range *range) {
    char first = script_end(t) ? '\0' : script_peek(t);
    const char *text = t->src->text;
    uint32_t from = t->at, to = from;
    if (first == '`') {
        for (to++; to < t->src->len && text[to] != '`' && text[to] != '\n';) to++;
        if (to >= t->src->len || text[to] != '`' || to == from + 1) return NULL;
        t->at = to + 1;
        *range = (Range){from, t->at};
        return name_intern(t->names, text + from + 1, to - from - 1);
    }
    while (to < t->src->len && is_word(text[to])) to++;
    if (!first || to == from) return NULL;
    t->at = to;
    *range = (Range){from, to};
    return name_intern(t->names, text + from, to - from);
}

bool script_next_is_number(Script *t) {
    char c = script_end(t) ? '\0' : script_peek(t);
    return c >= '0' && c <= '9';
}

int64_t script_number(Script *t) {
    Range range;
    Name w = script_next_is_number(t) ? script_word(t, &range) : NULL;
    int64_t n = 0;
    if (!w) return script_expected(t, "a number"), 0;
    for (const char *c = w; *c; c++) {
        if (*c < '0' || *c > '9' || n > INT64_MAX / 100) {
            script_fault(t, range, DIAG_SCHEDULE_NUMBER, w, "a number");
            return 0;
        }
        n = 10 * n + (*c - '0');
    }
    return n;
}

int64_t script_signed(Script *t) {
    return script_accept(t, '-') ? -script_number(t) : script_number(t);
}

int script_choice(Script *t, const char *what, DiagId id, Candidate *candidate, Range *range) {
    Name w = script_word(t, range);
    const char *one;
    if (!w) return script_expected(t, what), -1;
    for (size_t i = 0; (one = candidate(NULL, i)); i++)
        if (!strcmp(w, one)) return (int)i;
    Diag *d = script_fault(t, *range, id, w, NULL);
    const char *near = nearest(w, candidate, NULL);
    if (near) diag_note(t->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    return -1;
}

static const char *nth_kind(const void *of, size_t i) {
    (void)of;
    return i < KIND_COUNT ? kind_name[i] : NULL;
}

Kind script_kind(Script *t) {
    Range range;
    int k = script_choice(t, "a kind of loop", DIAG_EDIT_NO_KIND, nth_kind, &range);
    return k < 0 ? KIND_SERIAL : (Kind)k;
}

bool script_finish(Script *t, Range *range) {
    if (!t->failed && !script_end(t)) script_expected(t, "the end of the action");
    range->to = t->at;
    while (range->to > range->from && strchr(" \t\r", t->src->text[range->to - 1])) range->to--;
    return !t->failed;
}
