// Diagnostics: what is wrong with the user's input, where, and the way out.
//
// Every text stands in one table, diag.def; each row has a test. A diagnostic carries a byte range
// of a Source; printing gives
//
//     mv.tc:3:12: error: no tensor or function named 'B'
//       C(i) +=! A(i,k) * B(k)
//                         ^~~~
//     note: declare it as a parameter, or define it by an earlier statement
//
// A DiagList keeps at most DIAG_MAX of them; what comes later only counts. It lives in an arena and
// is handed to every function that can find fault with its input.
#ifndef LW_BASE_DIAG_H
#define LW_BASE_DIAG_H

#include <stdarg.h>

#include "base/text.h"
#include "base/vec.h"

enum { DIAG_MAX = 64 };

typedef struct Source {
    const char *name; // as the user knows it: "mv.tc", "<einsum>"
    const char *text; // NUL-terminated; may hold NULs inside
    uint32_t len;
} Source;

// Bytes [from, to) of the source in use; {0,0} when there is no place to point at.
typedef struct Range {
    uint32_t from, to;
} Range;

static inline Range range_join(Range a, Range b) {
    return (Range){a.from < b.from ? a.from : b.from, a.to > b.to ? a.to : b.to};
}

typedef enum Severity { SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR } Severity;

typedef enum DiagId {
#define DIAG(id, severity, text) DIAG_##id,
#include "base/diag.def"
#undef DIAG
    DIAG_COUNT
} DiagId;

typedef struct Diag Diag;
struct Diag {
    DiagId id;
    Severity severity;
    const Source *source; // NULL when there is no text
    Range range;
    const char *text;
    const Diag *notes; // further lines, each with a place of its own or none
    const Diag *next;  // next note
};

typedef struct DiagList {
    Arena *arena;
    const Source *source; // what ranges refer to now
    bool strict;          // warnings count as errors
    VEC(Diag *) items;
    int errors, warnings, dropped;
} DiagList;

// Reports the table's text, filled in like printf. Returns the diagnostic so that notes can be
// added.
Diag *diag_report(DiagList *list, Range range, DiagId id, ...);
Diag *diag_report_va(DiagList *list, Range range, DiagId id, va_list args);
// Whether the same was said of the same place before: once will do for a warning.
bool diag_was_reported(const DiagList *list, Range range, DiagId id);
// Adds a note; `id` is a row of severity NOTE. Range {0,0}: no place.
void diag_note(DiagList *list, Diag *d, Range range, DiagId id, ...);

// Some editors begin a text with a mark that it is UTF-8: it is no part of the text.
void source_skip_mark(Source *s);
// 1-based line and column (in bytes) of a position.
void source_position(const Source *s, uint32_t at, int *line, int *column);
// The text of a diagnostic with its source line, caret range and notes, as shown above.
void diag_print(Text *out, const Diag *d);

#endif
