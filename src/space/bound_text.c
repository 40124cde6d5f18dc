// The lower bound as a tree, for people.
#include "space/bound_impl.h"

void bound_explain(Text *out, const BoundModel *b, const Cand *c) {
    BoundTerm terms[BOUND_KINDS];
    double s = bound_evaluate(b, c, terms, NULL);
    text_printf(out, "bound            %.3g us\n", s * 1e6);
    for (int k = 0; k < BOUND_KINDS; k++)
        text_printf(out, "  %-8s %.3g us\n", bound_name[k], terms[k].seconds * 1e6);
}
