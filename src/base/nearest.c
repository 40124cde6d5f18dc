// Edit distance by rows, three of which are enough for transpositions.
#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 64 };

static int least(int a, int b) { return a < b ? a : b; }

static bool same_letter(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static int distance(const char *a, const char *b) {
    int na = (int)strlen(a), nb = (int)strlen(b);
    if (na > LONGEST || nb > LONGEST) return LONGEST;
    int row[3][LONGEST + 1];
    for (int j = 0; j <= nb; j++) row[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            now[j] = least(last[j - 1] + !same_letter(a[i - 1], b[j - 1]),
                           least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return row[na % 3][nb];
}

static int begins_alike(const char *a, const char *b) {
    int n = 0;
    while (a[n] && same_letter(a[n], b[n])) n++;
    return n;
}

// A name and a longer or shorter form of it, such as obj and object.
static bool is_short_for(const char *a, const char *b) {
    enum { SHORTEST = 3 };
    int n = begins_alike(a, b);
    return n >= SHORTEST && (!a[n] || !b[n]);
}

// Ties are resolved in favour of the candidate with the same beginning as the word.
const char *nearest(const char *word, Candidate *candidate, const void *of) {
    int best = (int)(strlen(word) + 2) / 3 + 1;
    const char *found = NULL, *name;
    for (size_t i = 0; (name = candidate(of, i)); i++) {
        int d = distance(word, name);
        if (is_short_for(word, name)) d = least(d, 2);
        bool nearer = d < best ||
                      (found && d == best && begins_alike(word, name) > begins_alike(word, found));
        if (nearer && d < (int)strlen(name)) best = d, found = name;
    }
    return found;
}

void diag_suggest(DiagList *diags, Diag *d, const char *word, Candidate *nth, const void *of) {
    enum { MOST_NAMES = 12 };
    const char *near = nearest(word, nth, of);
    if (near && strcmp(near, word) != 0) {
        diag_note(diags, d, nowhere, DIAG_DID_YOU_MEAN, near);
        return;
    }
    Text list = {.arena = diags->arena};
    size_t n = 0;
    for (; nth(of, n) && n < MOST_NAMES; n++)
        text_printf(&list, "%s'%s'", n == 0 ? "" : nth(of, n + 1) ? ", " : " and ", nth(of, n));
    if (nth(of, n)) text_add(&list, ", ...");
    if (n) diag_note(diags, d, nowhere, n == 1 ? DIAG_THERE_IS : DIAG_THERE_ARE, text_str(&list));
}
