// Diagnostics: errors in the user's input, with their location and the fix.
//
// All texts are in one table, diag.def; each row has a test. A diagnostic carries a byte range
// of a Source; printing gives
//
//     mv.tc:3:12: error: no tensor or function named 'B'
//       C(i) +=! A(i,k) * B(k)
//                         ^~~~
//     note: declare it as a parameter, or define it by an earlier statement
//
// A DiagList keeps at most DIAG_MAX of them; later ones are only counted. It lives in an arena and
// is passed to every function that can find errors in its input.
#ifndef LW_BASE_DIAG_H
#define LW_BASE_DIAG_H

#include <stdarg.h>

#include "base/text.h"
#include "base/vec.h"

enum { DIAG_MAX = 64 };

typedef struct Source {
    const char *name; // the user's name for it: "mv.tc", "<einsum>"
    const char *text; // NUL-terminated; may hold NULs inside
    uint32_t len;
} Source;

// Bytes [from, to) of the current source.
typedef struct Range {
    uint32_t from, to;
} Range;

static const Range nowhere = {0, 0}; // no location

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
    const Diag *notes; // further lines, each with or without its own location
    const Diag *next;  // next note
};

typedef struct DiagList {
    Arena *arena;
    const Source *source; // the source that ranges refer to
    bool strict;          // warnings count as errors
    VEC(Diag *) items;
    int errors, warnings, dropped;
} DiagList;

// Reports the table's text, filled in like printf. Returns the diagnostic so that notes can be
// added.
Diag *diag_report(DiagList *list, Range range, DiagId id, ...);
Diag *diag_report_va(DiagList *list, Range range, DiagId id, va_list args);
// Whether the list has this diagnostic for this range; a warning is given only once.
bool diag_was_reported(const DiagList *list, Range range, DiagId id);
// Adds a note; `id` is a row of severity NOTE. Range {0,0}: no location.
void diag_note(DiagList *list, Diag *d, Range range, DiagId id, ...);

// Skips the UTF-8 byte order mark that some editors write at the start of a text.
void source_skip_mark(Source *s);
// 1-based line and column (in bytes) of a position.
void source_position(const Source *s, uint32_t at, int *line, int *column);
// The text of a diagnostic with its source line, caret range and notes, as shown above.
void diag_print(Text *out, const Diag *d);

#endif
