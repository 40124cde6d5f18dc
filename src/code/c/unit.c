// Prints the C file: identifiers, parameters, the function with its loops, the two functions that
// call it, and the header.
#include "code/c/c_impl.h"

#include "base/checked.h"

#include <string.h>

// --- Identifiers -------------------------------------------------------------------------------

// Keywords of C and C++, names of this compiler, and functions that compilers or C libraries know:
// output that defined one of them would not compile, or would replace it.
static const char *const reserved[] = {
    "auto",        "break",    "case",     "char",   "const",     "continue",    "default",
    "do",          "double",   "else",     "enum",   "extern",    "float",       "for",
    "goto",        "if",       "inline",   "int",    "long",      "register",    "restrict",
    "return",      "short",    "signed",   "sizeof", "static",    "struct",      "switch",
    "typedef",     "union",    "unsigned", "void",   "volatile",  "while",       "bool",
    "true",        "false",    "asm",      "typeof", "linux",     "unix",        "NULL",
    "NAN",         "INFINITY", "init",     "post",   "status",    "scratch",     "memory",
    "own",         "at",       "buffers",  "env",    "flags",     "catch",       "class",
    "delete",      "export",   "friend",   "new",    "operator",  "private",     "public",
    "template",    "this",     "throw",    "try",    "using",     "virtual",     "namespace",
    "and",         "or",       "not",      "xor",    "nullptr",   "main",        "abort",
    "abs",         "alloca",   "atexit",   "atof",   "atoi",      "atol",        "bcmp",
    "bcopy",       "bsearch",  "bzero",    "calloc", "clock",     "close",       "connect",
    "div",         "drem",     "dup",      "dup2",   "environ",   "exit",        "fclose",
    "fflush",      "ffs",      "finite",   "fopen",  "fork",      "fprintf",     "fputs",
    "fread",       "free",     "frexp",    "fwrite", "gamma",     "getenv",      "getpid",
    "ilogb",       "index",    "isalpha",  "isatty", "isdigit",   "isinf",       "isnan",
    "isspace",     "jn",       "kill",     "labs",   "ldexp",     "ldiv",        "lgamma_r",
    "link",        "listen",   "llabs",    "llrint", "llround",   "lrint",       "lround",
    "lseek",       "malloc",   "memchr",   "memcmp", "memcpy",    "memmove",     "memset",
    "mmap",        "modf",     "munmap",   "nan",    "nearbyint", "open",        "pipe",
    "printf",      "putchar",  "puts",     "qsort",  "raise",     "rand",        "random",
    "read",        "realloc",  "rename",   "rindex", "rint",      "scalb",       "scalbln",
    "scalbn",      "scanf",    "select",   "send",   "setenv",    "signal",      "signbit",
    "significand", "sincos",   "sleep",    "socket", "sprintf",   "srand",       "stat",
    "strcat",      "strchr",   "strcmp",   "strcpy", "strdup",    "strlen",      "strncmp",
    "strncpy",     "strstr",   "strtod",   "strtol", "syscall",   "system",      "time",
    "tolower",     "toupper",  "unlink",   "vfork",  "wait",      "write",       "yn",
    "EOF",         "BUFSIZ",   "stdin",    "stdout", "stderr",    "errno",       "assert",
    "offsetof",    "isfinite", "isnormal", "isless", "isgreater", "isunordered", "NFDBITS",
};

static bool begins(const char *name, const char *with) {
    return !strncmp(name, with, strlen(with));
}

static bool ends(const char *name, const char *with) {
    size_t n = strlen(name), m = strlen(with);
    return n > m && !strcmp(name + n - m, with);
}

// Helpers and macros of the output. A suffix does not make such a name free.
static bool is_ours(const char *name) { return begins(name, "lw_") || begins(name, "LW_"); }

// Macros of the C library's headers: INT_MAX, UINT8_C, M_PI, FP_NAN, HUGE_VALF. With a suffix of
// ours, M_PI_ or M_PI_2, the name is free.
static bool is_macro(const char *name) {
    char last = *name ? name[strlen(name) - 1] : '_';
    if (last == '_' || (last >= '3' && last <= '9')) return false;
    return ends(name, "_MAX") || ends(name, "_MIN") || ends(name, "_WIDTH") || ends(name, "_C") ||
           begins(name, "M_") || begins(name, "FP_") || begins(name, "MATH_") ||
           begins(name, "HUGE_VAL") || begins(name, "SEEK_") || begins(name, "EXIT_");
}

// Does the name have another meaning in the output?
bool c_reserved(const char *name) {
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(reserved[i], name)) return true;
    for (int op = 0; op < OP_COUNT; op++) {
        size_t n = strlen(op_info[op].name);
        if (op_info[op].class == OP_MATH && !strncmp(op_info[op].name, name, n) &&
            (len == n || (len == n + 1 && name[n] == 'f')))
            return true;
    }
    return ends(name, "_t") || is_ours(name) || is_macro(name);
}

const char *c_identifier(Arena *arena, const char *name) {
    Text out = {.arena = arena};
    bool odd = !*name || (*name >= '0' && *name <= '9') || *name == '_' || is_ours(name);
    if (odd) text_char(&out, 'v');
    for (const char *c = name; *c; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        bool valid = letter || (*c >= '0' && *c <= '9') || *c == '_';
        text_char(&out, valid ? *c : '_');
    }
    if (c_reserved(text_str(&out))) text_char(&out, '_');
    return text_str(&out);
}

bool c_name_taken(const CWriter *w, const char *name) {
    for (int i = 0; i < w->scope.n; i++)
        if (!strcmp(w->scope.at[i], name)) return true;
    for (int i = 0; i < w->t->buffers.n; i++)
        if (w->buffer[i].name && !strcmp(w->buffer[i].name, name)) return true;
    if (w->sum && !strcmp(w->sum_name, name)) return true;
    return c_reserved(name);
}

static const char *function_name(CUnit *u, const char *wanted) {
    const char *base = c_identifier(u->arena, wanted), *name = base;
    for (int k = 1, i = 0; i < u->names.n; i++)
        if (!strcmp(u->names.at[i], name)) {
            name = arena_printf(u->arena, "%s_%d", base, ++k);
            i = -1;
        }
    vec_push(u->arena, &u->names, name);
    return name;
}

// --- One function ------------------------------------------------------------------------------

// The elements from the first to the last; overflow is refused at its use.
static int64_t span_of(const Buffer *b) {
    int64_t span = 1;
    for (int d = 0; d < b->rank; d++)
        if (!checked_fma(max_i64(b->size[d] - 1, 0), b->stride[d], &span)) return INT64_MAX / 64;
    return span;
}

static void name_buffers(CWriter *w) {
    for (int i = 0; i < w->t->buffers.n; i++) {
        const Buffer *b = &w->t->buffers.at[i];
        const char *base = c_identifier(w->arena, b->name ? b->name : "T"), *name = base;
        for (int k = 2; c_name_taken(w, name); k++) name = arena_printf(w->arena, "%s_%d", base, k);
        w->buffer[i].name = name;
        w->buffer[i].span = span_of(b);
    }
}

static bool writes(const CWriter *w, int argument) {
    const Program *p = w->t->program;
    return !p || argument >= p->ninputs;
}

// "const float *restrict A, float *restrict C", or names alone.
static void print_arguments(const CWriter *w, Text *out, bool types) {
    for (int i = 0; i < w->t->nargs; i++) {
        if (i) text_add(out, ", ");
        if (types)
            text_printf(out, "%s%s *restrict ", writes(w, i) ? "" : "const ",
                        c_type(w->t->buffers.at[i].type));
        text_add(out, w->buffer[i].name);
    }
    if (!w->t->nargs && types) text_add(out, "void");
}

static const char *arguments(const CWriter *w, bool types) {
    Text out = {.arena = w->arena};
    print_arguments(w, &out, types);
    return text_str(&out);
}

// Describes the arguments: "A f32[64, 32], C f32[64]".
static void describe(const CWriter *w, Text *out) {
    for (int i = 0; i < w->t->nargs; i++) {
        const Buffer *b = &w->t->buffers.at[i];
        int64_t dense = 1;
        bool odd = false;
        text_printf(out, "%s%s ", i ? ", " : "", w->buffer[i].name);
        argument_print(out, w->t, i);
        for (int d = b->rank - 1; d >= 0; d--) {
            odd |= b->size[d] > 1 && b->stride[d] != dense;
            dense *= b->size[d];
        }
        for (int d = 0; odd && d < b->rank; d++)
            text_printf(out, "%s%lld", d ? ", " : " strides ", (long long)b->stride[d]);
    }
}

typedef struct CShape {
    const char *name;
    bool status, flags; // the public function can fail; the loops take flags or scratch
} CShape;

static void print_loops(CWriter *w, const CShape *s, const Text *body) {
    Text *out = &w->u->bodies;
    const char *parameters = arguments(w, true);
    if (s->flags) {
        text_printf(out, "static %s %s_loops(%s", w->checks ? "int" : "void", s->name,
                    w->t->nargs ? parameters : "");
        bool comma = w->t->nargs > 0;
        if (w->most_scratch) text_printf(out, "%schar *restrict scratch", comma ? ", " : "");
        comma |= w->most_scratch > 0;
        if (w->uses_init) text_printf(out, "%sbool init", comma ? ", " : "");
        comma |= w->uses_init;
        if (w->uses_post) text_printf(out, "%sbool post", comma ? ", " : "");
        text_add(out, ") {\n");
    } else {
        text_printf(out, "%s %s(%s) {\n", w->checks ? "int" : "void", s->name, parameters);
    }
    for (int i = 0; i < w->t->nargs; i++)
        if (!w->buffer[i].used) text_printf(out, "    (void)%s;\n", w->buffer[i].name);
    if (w->most_scratch && !strstr(text_str(body), "(scratch + ")) // its buffer was never printed
        text_add(out, "    (void)scratch;\n");
    if (w->checks) text_add(out, "    int status = 0;\n");
    text_add_n(out, text_str(body), body->len);
    if (w->checks) text_add(out, "    return status;\n");
    text_add(out, "}\n\n");
}

// Prints the call of the loops from either of the two functions.
static void print_call(CWriter *w, const CShape *s, const char *args, const char *scratch,
                       const char *init, const char *post) {
    Text *out = &w->u->bodies;
    text_printf(out, "%s%s(%s", s->name, s->flags ? "_loops" : "", args);
    bool comma = w->t->nargs > 0;
    const char *more[] = {w->most_scratch ? scratch : NULL, w->uses_init ? init : NULL,
                          w->uses_post ? post : NULL};
    for (int i = 0; i < 3; i++) {
        if (!more[i]) continue;
        text_printf(out, "%s%s", comma ? ", " : "", more[i]);
        comma = true;
    }
    text_add(out, ");\n");
}

static void print_public(CWriter *w, const CShape *s) {
    Text *out = &w->u->bodies;
    text_printf(out, "%s %s(%s) {\n", s->status ? "int" : "void", s->name, arguments(w, true));
    if (w->most_scratch) {
        w->u->memory = true;
        text_printf(out,
                    "    char *const memory = malloc(%lld);\n"
                    "    if (!memory) return 1;\n"
                    "    char *const scratch = memory + (64 - (uintptr_t)memory %% 64) %% 64;\n",
                    (long long)(w->most_scratch + 63));
        text_add(out, w->checks ? "    const int status = " : "    ");
        print_call(w, s, arguments(w, false), "scratch", "true", "true");
        text_printf(out, "    free(memory);\n    return %s;\n}\n\n", w->checks ? "status" : "0");
        return;
    }
    text_add(out, w->checks ? "    return " : "    ");
    print_call(w, s, arguments(w, false), "", "true", "true");
    text_add(out, "}\n\n");
}

static void print_kernel(CWriter *w, const CShape *s) {
    Text *out = &w->u->bodies, args = {.arena = w->arena};
    for (int i = 0; i < w->t->nargs; i++) text_printf(&args, "%sbuffers[%d]", i ? ", " : "", i);
    text_printf(out,
                "int %s_kernel(void *const *buffers, void *scratch, const struct KernelEnv *env) "
                "{\n",
                s->name);
    if (!w->t->nargs) text_add(out, "    (void)buffers;\n");
    if (!w->most_scratch) text_add(out, "    (void)scratch;\n");
    if (w->uses_init || w->uses_post)
        text_add(out, "    const uint32_t flags = *(const uint32_t *)(const void *)env;\n");
    else
        text_add(out, "    (void)env;\n");
    text_add(out, w->checks ? "    return " : "    ");
    print_call(w, s, text_str(&args), "scratch", "!(flags & 1)", "!(flags & 2)");
    text_add(out, w->checks ? "}\n" : "    return 0;\n}\n");
}

static void print_prototypes(CWriter *w, const CShape *s) {
    Text *out = &w->u->prototypes;
    text_printf(out, "// %s: ", s->name);
    describe(w, out);
    text_printf(out, "\n%s %s(%s);\n", s->status ? "int" : "void", s->name, arguments(w, true));
    text_printf(out, "#define %s_scratch INT64_C(%lld)\n", s->name, (long long)w->most_scratch);
    text_printf(out,
                "int %s_kernel(void *const *buffers, void *scratch, const struct KernelEnv "
                "*env);\n\n",
                s->name);
}

// --- The unit ----------------------------------------------------------------------------------

CUnit *c_unit(Arena *arena) {
    CUnit *u = arena_new(arena, CUnit);
    u->arena = u->bodies.arena = u->prototypes.arena = arena;
    return u;
}

static bool see_difference(void *user, const Node *node, int depth, const Block *parent) {
    (void)depth, (void)parent;
    const Leaf *leaf = as_leaf(node);
    if (leaf && leaf->value) *(bool *)user |= c_subtracts(leaf->value);
    return true;
}

bool c_unit_add(CUnit *u, Tree *t, const char *name, CFunction *out, DiagList *diags) {
    Text body = {.arena = u->arena};
    CWriter w = {.u = u, .t = t, .arena = u->arena, .diags = diags, .out = &body, .indent = 1};
    w.buffer = arena_new_n(u->arena, CBuffer, t->buffers.n);
    w.index = arena_new_n(u->arena, CIndex, t->nindices);
    w.lo = arena_new_n(u->arena, int64_t, t->nindices);
    w.hi = arena_new_n(u->arena, int64_t, t->nindices);
    w.extent = arena_new_n(u->arena, int64_t, t->nindices);
    bool overflow = t->exprs->overflow, too_large = t->exprs->too_large;
    t->exprs->overflow = t->exprs->too_large = false;
    name_buffers(&w);
    tree_walk(t, see_difference, &w.differences);
    c_tree(&w);
    bool failed = t->exprs->overflow || t->exprs->too_large;
    t->exprs->overflow = overflow;
    t->exprs->too_large = too_large;
    if (failed) {
        diag_report(diags, (Range){0}, DIAG_C_OFFSET);
        return false;
    }
    const char *own = t->program && t->program->name ? t->program->name : "kernel";
    CShape s = {.name = function_name(u, name ? name : own),
                .status = w.checks || w.most_scratch,
                .flags = w.uses_init || w.uses_post || w.most_scratch};
    print_prototypes(&w, &s);
    if (u->bodies.len) text_char(&u->bodies, '\n');
    print_loops(&w, &s, &body);
    if (s.flags) print_public(&w, &s);
    print_kernel(&w, &s);
    *out = (CFunction){s.name, arena_printf(u->arena, "%s_kernel", s.name), w.most_scratch,
                       w.has_parallel};
    return true;
}

static void print_header(const CUnit *u, Text *out, const char *guard) {
    text_printf(out, "#ifndef %s\n#define %s\n\n", guard, guard);
    text_add(out,
             "#include <stdint.h>\n\n"
             "#ifdef __cplusplus\n#define restrict __restrict\nextern \"C\" {\n#endif\n\n"
             "// Arrays are in row-major order unless strides are given. An int result is 0, 1 "
             "where memory\n"
             "// ran out, or 1000 + the number of the statement whose subscript left its "
             "tensor.\n"
             "struct KernelEnv; // begins with uint32_t flags: 1 keeps what results hold, 2 "
             "skips post-operations\n\n");
    text_add(out, text_str(&u->prototypes));
    text_add(out, "#ifdef __cplusplus\n}\n#undef restrict\n#endif\n\n#endif\n");
}

// Names that differ only in case have different guards.
static const char *guard_of(const CUnit *u) {
    return arena_printf(u->arena, "LW_%s_H", u->names.n ? u->names.at[0] : "unit");
}

// gcc 12.1 to 12.3 and 13.1 fold a masked load into a blend, which reads the whole vector, also
// beyond the end of a tensor.
static const char masked_loads[] =
    "#if defined __AVX512VL__ && defined __GNUC__ && !defined __clang__ && \\\n"
    "    ((__GNUC__ == 12 && __GNUC_MINOR__ < 4) || (__GNUC__ == 13 && __GNUC_MINOR__ < 2))\n"
    "#pragma GCC target(\"no-avx512vl\") // its masked loads read beyond the end of a tensor\n"
    "#endif\n";

void c_unit_print(const CUnit *u, const char *include, Text *source, Text *header) {
    if (u->posix) text_add(source, "#define _DEFAULT_SOURCE\n");
    text_add(source,
             "// Made by Loopwright. Compile with -ffp-contract=off; -fopenmp runs parallel "
             "loops in parallel.\n");
    if (u->pragmas)
        text_add(source, "#if defined __GNUC__ && !defined _OPENMP\n"
                         "#pragma GCC diagnostic ignored \"-Wunknown-pragmas\"\n#endif\n"
                         "#ifdef __clang__ // it warns of vector loops that it does not vectorise\n"
                         "#pragma clang diagnostic ignored \"-Wpass-failed\"\n#endif\n");
    if (u->parallel)
        text_add(source,
                 "#if defined _OPENMP && defined __GNUC__ && !defined __clang__ // or it writes "
                 "back what other threads wrote\n"
                 "#pragma GCC optimize (\"no-predictive-commoning\")\n#endif\n");
    if (u->locals)
        text_add(
            source,
            "#if defined __GNUC__ && !defined __clang__ // it does not see that loops fill arrays\n"
            "#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"\n#endif\n");
    if (strstr(text_str(&u->bodies), "if (") || strstr(text_str(&u->bodies), " ? "))
        text_add(source, masked_loads);
    if (include)
        text_printf(source, "#include \"%s\"\n\n", include);
    else
        print_header(u, source, guard_of(u));
    if (u->math) text_add(source, "#include <math.h>\n");
    text_add(source, "#include <stdbool.h>\n");
    if (u->memory) text_add(source, "#include <stdlib.h>\n");
    if (u->used[HELPER_BITS] || u->used[HELPER_FLOAT]) text_add(source, "#include <string.h>\n");
    text_char(source, '\n');
    if (strstr(text_str(&u->bodies), "LW_ALIGN("))
        text_add(source, "#define LW_ALIGN(n) __attribute__((aligned(n)))\n\n");
    if (strstr(text_str(&u->bodies), "LW_IN_ORDER"))
        text_add(source, "#if defined __GNUC__ && !defined __clang__ // it overlooks dependences "
                         "between iterations of outer loops\n"
                         "#define LW_IN_ORDER __asm__ volatile(\"\" ::: \"memory\")\n#else\n"
                         "#define LW_IN_ORDER ((void)0)\n#endif\n\n");
    if (u->rounds)
        text_add(source, "#if defined __GNUC__ && __GNUC__ >= 12 && !defined __clang__ // it "
                         "contracts complex products\n"
                         "#define LW_ROUND(x) __builtin_assoc_barrier(x)\n#else\n"
                         "#define LW_ROUND(x) (x)\n#endif\n\n");
    helpers_print(u, source);
    text_add(source, text_str(&u->bodies));
    if (header) print_header(u, header, guard_of(u));
}
