// Reading edit scripts: actions one after the other, separated by semicolons or line ends.
//
//     split m 64; swap; vectorize n   # a comment
//
// The reader of scripts of Schedules (sched/script.c) and of Trees (transform/transform_script.c).
// Words that are not names are written in backquotes.
#ifndef LW_TREE_SCRIPT_READER_H
#define LW_TREE_SCRIPT_READER_H

#include "base/nearest.h"
#include "tree/tree.h"

typedef struct Script {
    Arena *arena;
    Names *names;
    const Source *src;
    DiagList *diags;
    uint32_t at; // the next character
    bool failed;
} Script;

char script_peek(Script *t);           // the next character other than a blank; '\0': none
bool script_end(Script *t);            // nothing more of this action?
bool script_accept(Script *t, char c); // skips it if it comes next
bool script_next(Script *t);           // to the next action; false: there is none

Name script_word(Script *t, Range *range); // NULL: no word comes next
bool script_next_is_number(Script *t);
int64_t script_number(Script *t);
int64_t script_signed(Script *t); // with or without '-'
// A word of a list; -1: it is none of them, which is reported as `id` with the nearest.
int script_choice(Script *t, const char *what, DiagId id, Candidate *candidate, Range *range);
Kind script_kind(Script *t);
// Ends an action that began at `*range`, which becomes its whole text. False: something failed.
bool script_finish(Script *t, Range *range);

Diag *script_fault(Script *t, Range range, DiagId id, const char *a, const char *b);
void script_expected(Script *t, const char *what);

#endif
