// Internal errors, never the user's: stops with the source location and a message.
#ifndef LW_BASE_BUG_H
#define LW_BASE_BUG_H

_Noreturn void bug_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define bug(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define require(cond)                                                                              \
    do {                                                                                           \
        if (__builtin_expect(!(cond), 0)) bug("%s does not hold", #cond);                          \
    } while (0)

#endif
