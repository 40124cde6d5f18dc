// Runs passes over the statements of a Program, each in loops of its own.
#ifndef PASSES_RUN_H
#define PASSES_RUN_H

#include "passes/pass.h"
#include "stripe/stripe.h"
#include "tree/trace.h"
#include "unit/tree_run.h"

static const char units[] = "machine toy\nmemory DRAM line=64\n"
                            "memory SRAM in=DRAM size=4KiB banks=2 align=16\n"
                            "compute PROC in=SRAM count=2\n";

static inline const Hardware *machine(TreeRun *r, const char *lines) {
    const char *text = arena_printf(&r->arena, "%s%s", units, lines);
    const Hardware *h =
        hardware_parse(&r->arena, &r->names, tr_source(r, "m.lwm", text), NULL, NULL, &r->diags);
    CHECK_STR_EQ(tr_diags(r), "");
    return h;
}

// Statements in loops of their own.
static inline const Tree *apart(TreeRun *r) {
    const Schedule *s = schedule_complete(&r->arena, r->p, NULL);
    for (int i = 0; i < r->p->stmts.n; i++) {
        const Schedule *staged = schedule_stage(s, r->p->stmts.at[i].label, 0);
        if (staged) s = staged;
    }
    return tree_lower(&r->arena, r->p, s, &r->diags);
}

static inline Passes passes(TreeRun *r, const char *lines) {
    Passes p = {0};
    const Hardware *h = machine(r, lines);
    const Tree *t = apart(r);
    CHECK(h && t && passes_run(&r->arena, h, t, &(PassesOptions){0}, &p, &r->diags));
    return p;
}

// The Tree that the passes leave, which computes its Program and parses back.
static inline const char *computing(TreeRun *r, const Passes *p) {
    Text out = {.arena = &r->arena}, stripe = {.arena = &r->arena};
    if (!p->tree) return "";
    tree_show(&out, p->tree, false);
    CHECK(tr_same(r, p->tree, (InterpFlags){0}, 5));
    CHECK(tr_same(r, p->tree, (InterpFlags){.accumulate = true}, 6));
    CHECK(tr_same(r, p->tree, (InterpFlags){.skip_post = true}, 7));
    stripe_print(&stripe, p->tree);
    CHECK(
        stripe_parse(&r->arena, &r->names, tr_source(r, "t.stripe", text_str(&stripe)), &r->diags));
    CHECK_STR_EQ(tr_diags(r), "");
    return text_str(&out);
}

// It also keeps the order of the Program.
static inline const char *after(TreeRun *r, const char *lines) {
    Passes p = passes(r, lines);
    const char *out = computing(r, &p);
    View *views = arena_new_n(&r->arena, View, r->p->ninputs + r->p->noutputs);
    tr_fill(r, views, 5);
    if (p.tree) CHECK(tree_trace(&r->arena, p.tree, views, NULL, &r->diags));
    CHECK_STR_EQ(tr_diags(r), "");
    return out;
}

static inline const char *said(TreeRun *r, const char *lines) {
    Passes p = passes(r, lines);
    Text out = {.arena = &r->arena};
    passes_explain(&out, &p);
    return text_str(&out);
}

// What passes said of a Tree that is given as Stripe text.
static inline const char *said_of_text(TreeRun *r, const char *text, const char *lines) {
    const Tree *t = stripe_parse(&r->arena, &r->names, tr_source(r, "t.stripe", text), &r->diags);
    const Hardware *h = machine(r, lines);
    Passes p = {0};
    CHECK_STR_EQ(tr_diags(r), "");
    if (!CHECK(t && h && passes_run(&r->arena, h, t, &(PassesOptions){0}, &p, &r->diags)))
        return "";
    Text out = {.arena = &r->arena};
    passes_explain(&out, &p);
    return text_str(&out);
}

#endif
