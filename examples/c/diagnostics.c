// Reads diagnostics as data, for example for an editor that underlines mistakes.
//
//     cc diagnostics.c $(pkg-config --cflags --libs loopwright) -o diagnostics
#include <loopwright.h>

#include <stdio.h>
#include <string.h>

static void show(const lw_diag *d, int indent) {
    static const char *const severity[] = {"note", "warning", "error"};
    printf("%*s%s", indent, "", severity[d->severity]);
    if (d->file)
        printf(" in %s from %d:%d to %d:%d", d->file, d->line, d->column, d->end_line,
               d->end_column);
    printf(": %s\n", d->text);
    for (size_t i = 0; i < d->note_count; i++) show(d->notes[i], indent + 2);
}

int main(void) {
    const char *text = "def f(float(N) A) -> (B) {\n"
                       "    B(i) = A(i) + D(i)\n"
                       "}\n";
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod;
    lw_status status = lw_parse(ctx, "f.tc", text, strlen(text), NULL, &mod);
    printf("%s, %zu diagnostics\n", lw_status_name(status), lw_diag_count(ctx));
    for (size_t i = 0; i < lw_diag_count(ctx); i++) show(lw_diag_get(ctx, i), 0);
    lw_module_free(mod);
    lw_context_free(ctx);
    return 0;
}
