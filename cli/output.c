// Output files. A new file is written under a temporary name and then replaces the old one, so that
// a full disk or an interrupt loses nothing. Anything that is not a regular file (a device, a pipe,
// a link) is written directly.
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot(Cli *cli, const char *path, int why) {
    return cli_fail(cli, "cannot write '%s': %s", path, strerror(why));
}

static bool is_plain(const char *path) {
    struct stat old;
    return lstat(path, &old) != 0 || S_ISREG(old.st_mode);
}

bool output_open(Cli *cli, const char *path, Output *o) {
    bool plain = is_plain(path);
    // A read-only file is not replaced either.
    bool ours = !plain || access(path, F_OK) != 0 || access(path, W_OK) == 0;
    char *to = plain ? cli_printf("%s.%ld.part", path, (long)getpid()) : cli_printf("%s", path);
    *o = (Output){ours ? fopen(to, "wb") : NULL, path, to, plain};
    if (o->file) return true;
    cannot(cli, path, errno);
    free(to);
    return false;
}

int output_close(Cli *cli, Output *o) {
    bool bad = ferror(o->file) != 0;
    bad = fclose(o->file) != 0 || bad;
    if (!bad && o->plain) bad = rename(o->to, o->path) != 0;
    int why = errno;
    if (bad && o->plain) remove(o->to);
    free(o->to);
    return bad ? cannot(cli, o->path, why) : EXIT_OK;
}

void output_drop(Output *o) {
    fclose(o->file);
    if (o->plain) remove(o->to);
    free(o->to);
}

int output_try(Cli *cli, const char *path) {
    Output o;
    if (!path || !is_plain(path)) return EXIT_OK; // opening a pipe has an effect
    if (!output_open(cli, path, &o)) return EXIT_FAILED;
    output_drop(&o);
    return EXIT_OK;
}

int output_write(Cli *cli, const char *path, const void *bytes, size_t size) {
    Output o;
    if (!output_open(cli, path, &o)) return EXIT_FAILED;
    fwrite(bytes, 1, size, o.file);
    return output_close(cli, &o);
}
