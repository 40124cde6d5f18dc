#include "search/model.h"

enum { SAMPLES = 512, NOT_THERE = SPACE_MAX_VALUES };
static const double RIDGE = 1, WORST = 3; // WORST: larger log times are all treated as "bad"

struct Model {
    const Space *s;
    int nvars;
    const int *var; // those that vary
    const int *at;  // per variable: its index in `var`; -1: it does not vary
    double *weight; // SPACE_MAX_VALUES + 1 per variable; the last for an absent variable
    double mean, best;
    int n, next;    // samples, a ring
    int half;       // the half of the variables to fit next
    uint8_t *value; // per variable: its values in all samples, consecutively
    double *error;  // per sample: the logarithm of its time minus the prediction
};

Model *model_new(Search *q) {
    Model *m = arena_new(q->arena, Model);
    int *var = arena_new_n(q->arena, int, q->s->ndecisions);
    int *at = arena_new_n(q->arena, int, q->s->ndecisions);
    for (int v = 0; v < q->s->ndecisions; v++) {
        uint64_t dom = space_domain(q->s, q->root, v);
        bool varies = q->s->var[v].present && (dom & (dom - 1));
        at[v] = varies ? m->nvars : -1;
        if (varies) var[m->nvars++] = v;
    }
    m->s = q->s;
    m->var = var;
    m->at = at;
    m->weight = arena_new_n(q->arena, double, m->nvars *(NOT_THERE + 1));
    m->value = arena_new_n(q->arena, uint8_t, (int64_t)m->nvars * SAMPLES);
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

double model_value(const Model *m, int var, int bit) {
    return m->at[var] < 0 ? 0 : m->weight[m->at[var] * (NOT_THERE + 1) + bit];
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
    for (int i = 0; i < m->nvars; i++) m->value[i * SAMPLES + at] = (uint8_t)value_of(m, c, i);
    m->error[at] = fmin(log_time, m->best + WORST) - model_guess(m, c);
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
    m->half ^= 1;
    for (int i = m->half; i < m->nvars; i += 2) {
        double *w = m->weight + i * (NOT_THERE + 1);
        const uint8_t *value = m->value + i * SAMPLES;
        memset(sum, 0, sizeof sum);
        memset(count, 0, sizeof count);
        for (int k = 0; k < m->n; k++) {
            sum[value[k]] += m->error[k];
            count[value[k]]++;
        }
        for (int v = 0; v <= NOT_THERE; v++) { // now the step of each weight
            sum[v] = (sum[v] + count[v] * w[v]) / (count[v] + RIDGE) - w[v];
            w[v] += sum[v];
        }
        for (int k = 0; k < m->n; k++) m->error[k] -= sum[value[k]];
    }
}
