#include "search/model.h"

enum { SAMPLES = 1024, NOT_THERE = SPACE_MAX_VALUES };
static const double RIDGE = 1, WORST = 3; // WORST: log of a time that says no more than "bad"

struct Model {
    const Space *s;
    int nvars;
    const int *var; // those that vary
    double *weight; // SPACE_MAX_VALUES + 1 of each; the last one is of a variable that is not there
    double mean, best;
    int n, next; // samples, a ring
    uint8_t *value;
    double *log_time, *error; // error: log_time less the guess
};

Model *model_new(Search *q) {
    Model *m = arena_new(q->arena, Model);
    int *var = arena_new_n(q->arena, int, q->s->ndecisions);
    for (int v = 0; v < q->s->ndecisions; v++) {
        uint64_t dom = space_domain(q->s, q->root, v);
        if (q->s->var[v].present && (dom & (dom - 1))) var[m->nvars++] = v;
    }
    m->s = q->s;
    m->var = var;
    m->weight = arena_new_n(q->arena, double, m->nvars *(NOT_THERE + 1));
    m->value = arena_new_n(q->arena, uint8_t, (int64_t)SAMPLES * m->nvars);
    m->log_time = arena_new_n(q->arena, double, SAMPLES);
    m->error = arena_new_n(q->arena, double, SAMPLES);
    m->best = INFINITY;
    return m;
}

static int value_of(const Model *m, const Cand *c, int i) {
    const SpaceVar *x = &m->s->var[m->var[i]];
    if ((x->a >= 0 && !space_exists(m->s, c, x->a)) || (x->b >= 0 && !space_exists(m->s, c, x->b)))
        return NOT_THERE;
    return __builtin_ctzll(space_domain(m->s, c, m->var[i]));
}

static double guess(const Model *m, const uint8_t *value) {
    double sum = m->mean;
    for (int i = 0; i < m->nvars; i++) sum += m->weight[i * (NOT_THERE + 1) + value[i]];
    return sum;
}

double model_guess(const Model *m, const Cand *c) {
    double sum = m->mean;
    for (int i = 0; i < m->nvars; i++) sum += m->weight[i * (NOT_THERE + 1) + value_of(m, c, i)];
    return sum;
}

void model_add(Model *m, const Cand *c, double log_time) {
    int at = m->next;
    m->best = fmin(m->best, log_time);
    if (isinf(m->best)) return; // nothing to compare with yet
    m->next = (at + 1) % SAMPLES;
    if (m->n < SAMPLES) m->n++;
    for (int i = 0; i < m->nvars; i++)
        m->value[(int64_t)at * m->nvars + i] = (uint8_t)value_of(m, c, i);
    m->log_time[at] = fmin(log_time, m->best + WORST);
    m->error[at] = m->log_time[at] - guess(m, m->value + (int64_t)at * m->nvars);
}

static void fit_mean(Model *m) {
    double sum = 0;
    for (int k = 0; k < m->n; k++) sum += m->error[k];
    sum /= m->n > 0 ? m->n : 1;
    m->mean += sum;
    for (int k = 0; k < m->n; k++) m->error[k] -= sum;
}

void model_fit(Model *m) {
    double sum[NOT_THERE + 1], count[NOT_THERE + 1];
    fit_mean(m);
    for (int i = 0; i < m->nvars; i++) {
        double *w = m->weight + i * (NOT_THERE + 1);
        memset(sum, 0, sizeof sum);
        memset(count, 0, sizeof count);
        for (int k = 0; k < m->n; k++) {
            int v = m->value[(int64_t)k * m->nvars + i];
            sum[v] += m->error[k];
            count[v]++;
        }
        for (int v = 0; v <= NOT_THERE; v++) { // now the step of each weight
            sum[v] = (sum[v] + count[v] * w[v]) / (count[v] + RIDGE) - w[v];
            w[v] += sum[v];
        }
        for (int k = 0; k < m->n; k++) m->error[k] -= sum[m->value[(int64_t)k * m->nvars + i]];
    }
}
