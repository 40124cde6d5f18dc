// Prints why the planner declined optimisations.
#include "code/code.h"

#include <stddef.h>
#include <string.h>

static const struct {
    LossOf of;
    const char *why;
} loss[LOSS_COUNT] = {
#define LOSS(name, of, why) [name] = {LOSS_OF_##of, why},
#include "code/loss.def"
#undef LOSS
};

static const char *const lost[] = {
    [LOSS_OF_SUMS] = "sums are loaded and stored in every iteration",
    [LOSS_OF_LANES] = "the vector loop runs as a serial one",
    [LOSS_OF_THREADS] = "the parallel loop runs on one thread",
};

LossOf loss_of(const CodeLoss *l) { return loss[l->why].of; }

void loss_print(Text *out, const CodeLoss *l) {
    text_printf(out, "%s: ", lost[loss_of(l)]);
    const char *why = loss[l->why].why, *name = strstr(why, "%s");
    text_printf(out, "%.*s%s%s", (int)(name ? name - why : (ptrdiff_t)strlen(why)), why,
                name ? l->name : "", name ? name + 2 : "");
    if (l->most) text_printf(out, " (%d)", l->most);
}
