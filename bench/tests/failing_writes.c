/* Preloaded into a process: the Nth call that writes below a directory fails, as on a full disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char below[4096];
static int fail_at, seen, pid;

/* From now on, in this process only. */
void arm(char const *directory, int at) {
    snprintf(below, sizeof below, "%s", directory);
    fail_at = at;
    seen = 0;
    pid = getpid();
}
int counted(void) { return seen; }

static int fails(char const *path) {
    if (pid != getpid() || below[0] == 0 || strncmp(path, below, strlen(below)) != 0) return 0;
    if (++seen != fail_at) return 0;
    errno = ENOSPC;
    return 1;
}
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, void const *data, size_t size) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t const n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    return fails(path) ? -1 : REAL(write)(fd, data, size);
}
#define OPEN(name)                                            \
    int name(char const *path, int flags, ...) {              \
        va_list more;                                         \
        va_start(more, flags);                                \
        mode_t const mode = va_arg(more, mode_t);             \
        va_end(more);                                         \
        if ((flags & O_CREAT) != 0 && fails(path)) return -1; \
        return REAL(name)(path, flags, mode);                 \
    }
OPEN(open)
OPEN(open64)
int mkdir(char const *path, mode_t mode) { return fails(path) ? -1 : REAL(mkdir)(path, mode); }
int rename(char const *from, char const *to) { return fails(to) ? -1 : REAL(rename)(from, to); }
