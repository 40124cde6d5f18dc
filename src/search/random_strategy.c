// random: independent descents. It is the baseline of all strategies, so it does not use the bound.
#include "search/strategy.h"

void search_random(Search *q) {
    Batch *b = batch_new(q);
    Cand *c = search_cand(q);
    q->o.blind = true;
    while (!search_over(q)) {
        b->n = 0;
        for (; !search_over(q) && !batch_full(q, b);) {
            space_copy(q->s, c, q->root);
            if (search_complete(q, c)) batch_offer(q, b, c, 0);
        }
        batch_measure(q, b);
    }
}
