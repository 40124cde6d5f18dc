#include "base/bug.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void bug_at(const char *file, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: loopwright bug: ", file, line);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nplease report it with the input that caused it\n");
    va_end(args);
    abort();
}
