// A text builder: a growing string in an arena. Every printer in Loopwright writes into one.
#ifndef LW_BASE_TEXT_H
#define LW_BASE_TEXT_H

#include "base/arena.h"

typedef struct Text {
    Arena *arena;
    char *s; // NUL-terminated once anything was written; text_str() gives "" before that
    size_t len, cap;
} Text;

void text_add(Text *t, const char *s);
void text_add_n(Text *t, const char *s, size_t n);
void text_char(Text *t, char c);
void text_fill(Text *t, char c, int count);
void text_int(Text *t, int64_t i);
void text_printf(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The shortest decimal that reads back to the same value; always with '.', 'e', "inf" or "nan", so
// that it reads as a float. `single` for values that are f32 or narrower.
void text_float(Text *t, double f, bool single);
// The reverse: parses all of s[0..len) as a float, independently of the locale. False if it is not
// a float.
bool text_parse_float(const char *s, size_t len, bool single, double *out);
// Adds a string with \ before \ and the quote, and \x0a for bytes that are not printable.
void text_escape(Text *t, const char *s, char quote);
// Adds a string as it stands between the quotes of a JSON string. Bytes that are no UTF-8 become
// U+FFFD.
void text_json(Text *t, const char *s);
const char *text_str(const Text *t);

#endif
