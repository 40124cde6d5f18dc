// The editor of `loopwright edit` in a terminal: the loops with a cursor, their costs and speed.
//
// Every key is an edit script (docs/edit.md) that gives a new schedule. The schedules of a session
// form a stack, so undo drops the last one. After each change the function is compiled and timed
// on random data.
#include "cmd_edit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

typedef struct Step {
    lw_schedule *s;
    double us; // of one call; 0: not known
} Step;

typedef struct Editor {
    Cli *cli;
    Step *step; // the last one is shown
    size_t n, room;
    size_t nargs;
    Array *args;
    double flops;
    bool dragging;
    char message[256];
    struct termios before;
    int rows, columns;
} Editor;

enum { MEASURE_MS = 50, HEAD = 2, FOOT = 4, ESCAPE_MS = 50 };

static const lw_schedule *now(const Editor *e) { return e->step[e->n - 1].s; }

// --- Keys ----------------------------------------------------------------------------------------

enum { KEY_NONE = 256, KEY_UP, KEY_DOWN, KEY_RIGHT, KEY_LEFT, KEY_DRAG_UP, KEY_DRAG_DOWN, KEY_END };

static volatile sig_atomic_t ended;
static void on_end(int signal) { ended = signal; }
static void on_resize(int signal) { (void)signal; }

static int byte(int milliseconds) {
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    unsigned char c;
    if (ended) return KEY_END;
    int ready = poll(&in, 1, milliseconds);
    if (ready < 0 && errno == EINTR) return ended ? KEY_END : KEY_NONE; // resized: draw again
    if (ready <= 0) return KEY_NONE;
    return read(STDIN_FILENO, &c, 1) == 1 ? c : KEY_END;
}

// After ESC: an arrow, with shift or without; anything else is ignored.
static int escape(void) {
    int c = byte(ESCAPE_MS), shift = 0;
    if (c != '[' && c != 'O') return KEY_NONE;
    while ((c = byte(ESCAPE_MS)) < 256 && (c == ';' || (c >= '0' && c <= '9'))) shift = c == '2';
    switch (c) {
    case 'A': return shift ? KEY_DRAG_UP : KEY_UP;
    case 'B': return shift ? KEY_DRAG_DOWN : KEY_DOWN;
    case 'C': return KEY_RIGHT;
    case 'D': return KEY_LEFT;
    default: return KEY_NONE;
    }
}

static int key(void) {
    int c = byte(-1);
    return c == 27 ? escape() : c;
}

// --- Editing -------------------------------------------------------------------------------------

static void say(Editor *e, const char *text) {
    snprintf(e->message, sizeof e->message, "%s", text);
}

static void measure(Editor *e) {
    Step *step = &e->step[e->n - 1];
    lw_timing timing = {.struct_size = sizeof timing};
    lw_run_options o = {.struct_size = sizeof o,
                        .schedule = lw_schedule_get(step->s),
                        .backend = LW_BACKEND_JIT,
                        .measure_seconds = MEASURE_MS * 1e-3,
                        .threads = (int)e->cli->threads,
                        .isa = e->cli->isa,
                        .timing = &timing};
    const DLTensor **args = cli_alloc((e->nargs + 1) * sizeof *args);
    for (size_t i = 0; i < e->nargs; i++) args[i] = &e->args[i].t;
    step->us = 0;
    if (lw_run(e->cli->ctx, lw_schedule_bound(step->s), args, e->nargs, &o) == LW_OK) {
        step->us = timing.best_us;
        e->flops = timing.flops;
    } else if (lw_diag_count(e->cli->ctx))
        say(e, lw_diag_get(e->cli->ctx, 0)->text);
    free(args);
}

static void push(Editor *e, lw_schedule *s) {
    if (e->n == e->room) {
        Step *more = cli_alloc((e->room = 2 * e->room + 8) * sizeof *more);
        if (e->n) memcpy(more, e->step, e->n * sizeof *more);
        free(e->step);
        e->step = more;
    }
    e->step[e->n++] = (Step){s, 0};
}

// A script; a cursor that only moves makes no step of its own.
static bool edit(Editor *e, const char *script) {
    lw_schedule *s;
    if (lw_schedule_edit(e->cli->ctx, now(e), NULL, script, &s)) {
        if (lw_diag_count(e->cli->ctx)) say(e, lw_diag_get(e->cli->ctx, 0)->text);
        return false;
    }
    Step *last = &e->step[e->n - 1];
    if (strcmp(lw_schedule_get(last->s).text, lw_schedule_get(s).text) == 0) {
        lw_schedule_free(last->s);
        last->s = s;
        return true;
    }
    push(e, s);
    measure(e);
    return true;
}

static void undo(Editor *e) {
    if (e->n == 1) return say(e, "nothing to undo");
    lw_schedule_free(e->step[--e->n].s);
}

static void mark(Editor *e, lw_loop_kind kind) {
    int at = lw_schedule_cursor(now(e));
    const lw_node *n = at < 0 ? NULL : lw_schedule_node(now(e), (size_t)at);
    char script[32];
    lw_loop_kind to = n && n->kind == kind ? LW_LOOP_SERIAL : kind;
    snprintf(script, sizeof script, "annotate %s", lw_loop_kind_name(to));
    edit(e, script);
}

static void save(Editor *e) {
    const char *path = e->cli->output, *text = lw_schedule_get(now(e)).text;
    if (!path) return say(e, "give a file with -o to write the schedule; it is printed at the end");
    FILE *f = fopen(path, "w");
    bool ok = f && fputs(text, f) >= 0;
    if (f && fclose(f) != 0) ok = false;
    snprintf(e->message, sizeof e->message, ok ? "wrote %s" : "cannot write %s", path);
}

// --- Drawing -------------------------------------------------------------------------------------

static const char *colour(const lw_node *n) {
    if (!n || n->type != LW_NODE_LOOP) return "";
    switch (n->kind) {
    case LW_LOOP_PARALLEL: return "\033[32m";
    case LW_LOOP_VECTOR: return "\033[35m";
    case LW_LOOP_UNROLL: return "\033[33m";
    default: return "";
    }
}

static const char *bytes_text(char out[16], double bytes) {
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int at = 0;
    while (bytes >= 1024 && at < 4) bytes /= 1024, at++;
    snprintf(out, 16, "%.3g %s", bytes, unit[at]);
    return out;
}

static const lw_node *node_on(const lw_schedule *s, int line) {
    for (size_t i = 0; i < lw_schedule_node_count(s); i++)
        if (lw_schedule_node(s, i)->line == line) return lw_schedule_node(s, i);
    return NULL;
}

// One line of the Tree, with its footprint and operations behind it where there is room.
static void draw_line(const Editor *e, const char *text, int len, int line, int cursor) {
    const lw_node *n = node_on(now(e), line);
    char touches[16], cost[64] = "";
    if (n && n->type == LW_NODE_LOOP)
        snprintf(cost, sizeof cost, "%10s %9.3g op", bytes_text(touches, n->touches), n->flops);
    int room = e->columns - (int)strlen(cost) - 1;
    if (room < 20) room = e->columns, cost[0] = 0;
    if (len > room) len = room;
    printf("%s%s%.*s\033[0m", line == cursor ? (e->dragging ? "\033[1;7m" : "\033[7m") : "",
           colour(n), len, text);
    if (*cost) printf("%*s%s", room - len, "", cost);
    fputs("\033[K\r\n", stdout);
}

static void draw_tree(const Editor *e, int room) {
    int at = lw_schedule_cursor(now(e)), line = 1;
    int cursor = at < 0 ? 0 : lw_schedule_node(now(e), (size_t)at)->line;
    int first = cursor > room ? cursor - room / 2 : 1;
    for (const char *c = lw_schedule_tree(now(e)), *end; *c && room > 0; c = end + 1, line++) {
        end = strchr(c, '\n');
        if (!end) return;
        if (line < first) continue;
        draw_line(e, c, (int)(end - c), line, cursor);
        room--;
    }
}

static void draw_speed(const Editor *e) {
    char time[32], first[32], text[128] = "not measured";
    double us = e->step[e->n - 1].us, from = e->step[0].us;
    int n = us > 0 ? snprintf(text, sizeof text, "%.1f GFLOP/s, %s", e->flops / us * 1e-3,
                              cli_time(time, us))
                   : 0;
    if (us > 0 && e->n > 1 && from > 0)
        snprintf(text + n, sizeof text - (size_t)n, ", %.2f x as fast as at the start (%s)",
                 from / us, cli_time(first, from));
    printf("%.*s\033[K\r\n", e->columns - 1, text);
}

static void draw_schedule(const Editor *e) {
    const char *c = lw_schedule_get(now(e)).text;
    int left = e->columns - 1;
    for (; *c && left > 0; c++, left--) fputc(*c == '\n' ? (c[1] ? ';' : ' ') : *c, stdout);
    fputs("\033[K\r\n", stdout);
}

static void draw(Editor *e) {
    struct winsize size = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    e->rows = known ? size.ws_row : 24;
    e->columns = known ? size.ws_col : 80;
    char *values = cli_values_text(lw_schedule_bound(now(e)));
    const lw_function *f = lw_bound_function(lw_schedule_bound(now(e)));
    fputs("\033[H", stdout);
    printf("\033[1m%.*s\033[0m\033[K\r\n", e->columns - 1, lw_function_signature(f));
    printf("\033[2m%.*s\033[0m\033[K\r\n", e->columns - 1, values);
    draw_tree(e, e->rows - HEAD - FOOT - 1);
    fputs("\033[J\033[K\r\n", stdout);
    draw_speed(e);
    draw_schedule(e);
    printf("%.*s\033[K\r\n", e->columns - 1, e->message);
    printf("\033[2m%.*s\033[0m\033[K", e->columns - 1,
           e->dragging
               ? "arrows drag the loop, Enter drops it"
               : "arrows move, Enter drags, s splits, m merges, p v r parallel vector unroll, u "
                 "undo, : script, w write, q quit");
    fflush(stdout);
    free(values);
}

// --- Prompts -------------------------------------------------------------------------------------

// Reads a line at the bottom; false: given up.
static bool prompt(Editor *e, const char *what, char *into, size_t size) {
    size_t n = 0;
    for (;;) {
        into[n] = 0;
        snprintf(e->message, sizeof e->message, "%s%s", what, into);
        draw(e);
        int c = key();
        if (c == '\r' || c == '\n') break;
        if (c == KEY_END || c == 3) return e->message[0] = 0, false;
        if ((c == 127 || c == 8) && n) n--;
        if ((c == 127 || c == 8) && !n) continue;
        if (c >= ' ' && c < 127 && n + 1 < size) into[n++] = (char)c;
    }
    e->message[0] = 0;
    return n > 0;
}

static void ask(Editor *e, const char *what, const char *before) {
    char text[160], script[200];
    if (!prompt(e, what, text, sizeof text)) return;
    snprintf(script, sizeof script, "%s%s", before, text);
    edit(e, script);
}

// --- The session ---------------------------------------------------------------------------------

static void move(Editor *e, int c) {
    bool drag = e->dragging || c == KEY_DRAG_UP || c == KEY_DRAG_DOWN;
    if (c == KEY_UP || c == KEY_DRAG_UP)
        edit(e, drag ? "up; swap; up" : "back");
    else if (c == KEY_DOWN || c == KEY_DRAG_DOWN)
        edit(e, drag ? "swap" : "next");
    else
        edit(e, c == KEY_LEFT ? "up" : "down");
}

// Acts on a key; false: quit.
static bool act(Editor *e, int c) {
    if (c != KEY_NONE) e->message[0] = 0;
    if (c > KEY_NONE && c < KEY_END) return move(e, c), true;
    switch (c) {
    case '\r':
    case '\n': e->dragging = !e->dragging; break;
    case 's': ask(e, "iterations of the inner loop: ", "split "); break;
    case 'm':
    case 8:
    case 127: edit(e, "merge"); break;
    case 'u': undo(e); break;
    case 'p': mark(e, LW_LOOP_PARALLEL); break;
    case 'v': mark(e, LW_LOOP_VECTOR); break;
    case 'r': mark(e, LW_LOOP_UNROLL); break;
    case ':': ask(e, ":", ""); break;
    case 'w': save(e); break;
    case KEY_END:
    case 3: // Ctrl-C
    case 'q': return false;
    default: break;
    }
    return true;
}

static bool take_terminal(Editor *e) {
    struct termios raw;
    if (tcgetattr(STDIN_FILENO, &e->before)) return false;
    raw = e->before;
    raw.c_iflag &= (tcflag_t) ~(ICRNL | IXON);
    raw.c_lflag &= (tcflag_t) ~(ECHO | ICANON | ISIG);
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw)) return false;
    struct sigaction end = {.sa_handler = on_end}, resize = {.sa_handler = on_resize};
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGHUP, &end, NULL);
    sigaction(SIGWINCH, &resize, NULL);
    fputs("\033[?1049h\033[?25l", stdout); // another screen, no cursor
    return true;
}

static void leave_terminal(Editor *e) {
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSANOW, &e->before);
}

static bool make_data(Editor *e, const lw_bound *b) {
    const lw_function *f = lw_bound_function(b);
    e->nargs = lw_function_input_count(f) + lw_function_output_count(f);
    e->args = cli_alloc((e->nargs + 1) * sizeof *e->args);
    for (size_t i = 0; i < e->nargs; i++) {
        int64_t lo = 0, hi = 0;
        if (!data_new(&e->args[i], lw_bound_tensor(b, i), i)) return false;
        bool index = lw_bound_index_range(b, i, &lo, &hi);
        data_random(&e->args[i], e->cli->seed, lw_function_tensor(f, i)->name, index, lo, hi);
    }
    return true;
}

int edit_screen(Cli *cli, lw_schedule *from, lw_schedule **out) {
    Editor e = {.cli = cli};
    *out = NULL;
    int status = EXIT_OK;
    ended = 0;
    push(&e, from);
    if (!make_data(&e, lw_schedule_bound(from)))
        status = cli_fail(cli, "the arguments are too large for this machine's memory");
    else if (!take_terminal(&e))
        status = cli_fail(cli, "the terminal cannot be controlled");
    else {
        measure(&e);
        do draw(&e);
        while (act(&e, key()));
        leave_terminal(&e);
        *out = e.step[--e.n].s;
    }
    for (size_t i = 0; i < e.n; i++) lw_schedule_free(e.step[i].s);
    for (size_t i = 0; i < e.nargs && e.args; i++) data_free(&e.args[i]);
    free(e.args);
    free(e.step);
    return status;
}
