// The options of a tuning that are words: a strategy with its own options, and the order of
// decisions.
#include "tune/tune.h"

#include "sched/mapping.h"
#include "space/cpu_space.h"
#include "space/gpu_space.h"

#include <stdlib.h>
#include <string.h>

const char *const *lw_tune_strategies(void) { return search_strategy_name; }

// Reports the valid words, and the one that may have been meant.
static bool no_such(Call *call, const char *word, const char *what, const char *const *names,
                    int n) {
    Text text = {.arena = call->arena};
    for (int i = 0; i < n; i++) text_printf(&text, "%s%s", i ? ", " : "", names[i]);
    const char *name = arena_strndup(call->arena, word, strcspn(word, "="));
    const char *near = lw_nearest(name, names, (size_t)n);
    if (near) text_printf(&text, "; did you mean '%s'?", near);
    diag_report(call->diags, nowhere, DIAG_TUNE_WORD, word, what, text_str(&text));
    return false;
}

// --- Strategies ----------------------------------------------------------------------------------

// An option of some strategies: a number, whole or not, or a flag.
typedef struct Option {
    const char *name;
    unsigned of; // strategies, a bit each
    int *whole;
    double *real;
    bool *flag;
} Option;

static bool read_number(Call *call, const Option *o, const char *word, const char *value) {
    char *end;
    double x = strtod(value, &end);
    bool right = end != value && !*end && x > 0 && x <= 1e6; // 0 is the default
    if (!right || (o->whole && x != (int)x)) {
        const char *what = arena_printf(call->arena, "value of %s", o->name);
        const char *numbers =
            o->whole ? "whole numbers from 1 to 1000000" : "numbers above 0, up to 1000000";
        diag_report(call->diags, nowhere, DIAG_TUNE_WORD, word, what, numbers);
        return false;
    }
    if (o->whole) *o->whole = (int)x;
    if (o->real) *o->real = x;
    return true;
}

// "width=8", "blind": refuses options of other strategies.
static bool strategy_option(Call *call, const char *word, SearchOptions *s) {
    enum {
        GREEDY = 1 << SEARCH_GREEDY,
        BEAM = 1 << SEARCH_BEAM,
        GENETIC = 1 << SEARCH_GENETIC | 1 << SEARCH_POLY
    };
    const Option options[] = {{"width", BEAM, .whole = &s->width},
                              {"lookahead", GREEDY | BEAM, .whole = &s->lookahead},
                              {"population", GENETIC, .whole = &s->population},
                              {"generations", GENETIC, .whole = &s->generations},
                              {"elites", GENETIC, .whole = &s->elites},
                              {"crossover", GENETIC, .real = &s->crossover},
                              {"mutation", GENETIC, .real = &s->mutation},
                              {"batch", ~0u, .whole = &s->batch},
                              {"scratch", ~0u, .flag = &s->scratch},
                              {"blind", ~0u, .flag = &s->blind}};
    enum { N = sizeof options / sizeof *options };
    const char *names[N];
    size_t len = strcspn(word, "=");
    int n = 0;
    for (int i = 0; i < N; i++) {
        const Option *o = &options[i];
        if (!(o->of >> s->strategy & 1)) continue;
        names[n++] = o->name;
        if (strlen(o->name) != len || strncmp(o->name, word, len) != 0) continue;
        if (!o->flag) return read_number(call, o, word, word[len] ? word + len + 1 : word + len);
        if (!word[len]) return *o->flag = true;
    }
    const char *what = arena_printf(call->arena, "option of %s", search_strategy_name[s->strategy]);
    return no_such(call, word, what, names, n);
}

// "beam width=8"
static bool read_strategy(Call *call, const char *text, SearchOptions *s) {
    if (!text) return true;
    char *rest = arena_strndup(call->arena, text, strlen(text)), *word = strtok_r(rest, " ", &rest);
    int which = word ? search_strategy_by_name(word) : -1;
    if (which < 0)
        return no_such(call, word ? word : text, "strategy", search_strategy_name,
                       SEARCH_STRATEGIES);
    s->strategy = (SearchStrategy)which;
    if (which == SEARCH_POLY && poly_missing()) {
        diag_report(call->diags, (Range){0, 0}, DIAG_POLY_UNAVAILABLE, poly_missing());
        return false;
    }
    while ((word = strtok_r(NULL, " ", &rest)))
        if (!strategy_option(call, word, s)) return false;
    return true;
}

// --- The order of decisions ----------------------------------------------------------------------

// "impact", or names of choices, "kind,size", whose decisions come before all others.
static bool read_order(Call *call, const char *text, const SpaceDesc *desc, SearchOptions *s) {
    int named = text ? search_order_by_name(text) : SEARCH_ORDER_GIVEN, n = 0;
    if (named >= 0) return s->order = (SearchOrder)named, true;
    const char **names = arena_new_n(call->arena, const char *, SEARCH_ORDERS + desc->nchoices);
    int *which = arena_new_n(call->arena, int, SEARCH_ORDERS + desc->nchoices);
    for (; n < SEARCH_ORDERS; n++) names[n] = search_order_name[n];
    for (int i = 0; i < desc->nchoices; i++) {
        if (desc->choice[i].kind == CHOICE_COUNTER) continue;
        which[n] = i;
        names[n++] = desc->choice[i].name;
    }
    int *first = arena_new_n(call->arena, int, (int)strlen(text) + 1);
    char *rest = arena_strndup(call->arena, text, strlen(text)), *word;
    while ((word = strtok_r(rest, ", ", &rest))) {
        int i = SEARCH_ORDERS;
        while (i < n && strcmp(names[i], word) != 0) i++;
        if (i == n) return no_such(call, word, "order of decisions", names, n);
        first[s->nfirst++] = which[i];
    }
    s->first = first;
    return true;
}

bool tune_options(Call *call, const lw_tune_options *o, SearchOptions *s) {
    *s = (SearchOptions){.seed = o->seed, .trials = o->trials, .gap = o->gap};
    return read_strategy(call, o->strategy, s) &&
           read_order(call, o->order, o->device ? &gpu_desc : &cpu_desc, s);
}

// --- The call ------------------------------------------------------------------------------------

static lw_status check_options(Call *call, void *options) {
    SearchOptions s;
    return tune_options(call, options, &s) ? LW_OK : LW_ERROR;
}

lw_status lw_tune_options_check(lw_context *ctx, const lw_tune_options *options) {
    lw_tune_options o;
    if (!options_copy(&o, sizeof o, options)) return call_unsized(ctx);
    return call_run(ctx, check_options, &o);
}
