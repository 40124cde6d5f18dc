#define _GNU_SOURCE
#include "api/cache_file.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cache_file(Arena *arena, const char *name) {
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *below = "";
    if (!xdg || *xdg != '/') xdg = home, below = "/.cache";
    if (!xdg || *xdg != '/') return NULL;
    return arena_printf(arena, "%s%s/loopwright/%s", xdg, below, name);
}

// Letters and digits of the processor's name, the rest as single dashes.
const char *cache_slug(Arena *arena, const char *cpu) {
    Text out = {.arena = arena};
    bool gap = false;
    for (const char *c = cpu; *c; c++) {
        bool keep =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        if (keep && gap && out.len) text_char(&out, '-');
        if (keep) text_char(&out, *c);
        gap = !keep;
    }
    return out.len ? text_str(&out) : "unknown";
}

enum { FILE_LIMIT = 16384 };

// False when there is none; a file that cannot be read, or is too long, reads as "".
bool cache_read(Arena *arena, const char *path, const char **text) {
    char *into = arena_alloc(arena, FILE_LIMIT + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *text = into;
    if (fd < 0) return errno != ENOENT && errno != ENOTDIR;
    ssize_t n = read(fd, into, FILE_LIMIT);
    close(fd);
    into[n > 0 && n < FILE_LIMIT ? n : 0] = 0;
    return true;
}

// Other processes see the old file or the new one, never a part. What is there and is no file (a
// device, say) stays.
bool cache_write(Arena *arena, const char *path, const char *text) {
    struct stat old;
    if (stat(path, &old) == 0 && !S_ISREG(old.st_mode)) {
        errno = EEXIST;
        return false;
    }
    char *folder = arena_strndup(arena, path, strlen(path));
    for (char *c = folder + 1; (c = strchr(c, '/')); c++) {
        *c = 0;
        if (mkdir(folder, 0755) != 0 && errno != EEXIST) return false;
        *c = '/';
    }
    char *temporary = arena_printf(arena, "%s.%ld", path, (long)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return false;
    size_t len = strlen(text);
    bool ok = write(fd, text, len) == (ssize_t)len;
    ok = close(fd) == 0 && ok && rename(temporary, path) == 0;
    int why = errno;
    if (!ok) unlink(temporary);
    errno = why;
    return ok;
}
