// What src/poly says of a function: dependences, and the schedule trees of TC's scheduler.
#include "api/pipeline.h"

#include <string.h>

#include "poly/poly.h"
#include "sched/mapping.h"

static lw_status unavailable(Call *call) {
    const char *why = poly_missing();
    if (!why) why = "isl exceeded its budget of operations; use smaller sizes or fewer statements";
    diag_report(call->diags, (Range){0, 0}, DIAG_POLY_UNAVAILABLE, why);
    return LW_UNAVAILABLE;
}

static lw_status show_dependences(Call *call, const Program *p, Text *out) {
    const PolyScop *s = poly_scop(call->arena, p);
    for (int values = 0; values < 2; values++) {
        text_add(out, values ? "# value-based\n" : "# memory-based\n");
        if (poly_dependences(out, s, values) != POLY_OK) return unavailable(call);
    }
    return LW_OK;
}

static lw_status show_steps(Call *call, const Program *p, const char *text, Text *out) {
    static const char *const title[] = {"(a) canonical", "(b) fused", "(c) tiled", "(d) sunk"};
    MappingSteps steps;
    Mapping m;
    if (!mapping_parse(text ? text : "naive", &m, call->diags)) return LW_ERROR;
    if (!mapping_steps(call->arena, p, &m, &steps, call->diags)) return LW_UNAVAILABLE;
    const PolyNode *tree[] = {steps.canonical, steps.fused, steps.tiled, steps.sunk};
    for (int i = 0; i < 4; i++) {
        text_printf(out, "%s# %s\n", i ? "\n" : "", title[i]);
        poly_print(out, steps.scop, tree[i]);
    }
    return LW_OK;
}

lw_status poly_show(Call *call, const lw_bound *b, lw_stage stage, const lw_schedule_text *given,
                    const char **out) {
    const Program *p = program_fork(call->arena, b->program);
    const char *options =
        given->text && schedule_is_mapping(given->text) ? strchr(given->text, ' ') + 1 : NULL;
    Text text = {.arena = call->arena};
    if (poly_missing()) return unavailable(call);
    lw_status status = stage == LW_STAGE_DEPENDENCES ? show_dependences(call, p, &text)
                                                     : show_steps(call, p, options, &text);
    *out = text_str(&text);
    return status;
}
