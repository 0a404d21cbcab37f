/* A disk that fails when it is told to: loaded before the C library, for one process.
 *
 * Writes and syncs of files below the directory EVENMATCH_DISK fail as the file EVENMATCH_DISK_FAULT
 * says: "ENOSPC" and "EIO" refuse writes, "EIO sync" lets writes pass and refuses to sync them,
 * "TORN" writes the first half of one write, syncs it, and ends the process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_meant(int fd) {
    static const char *below;
    char link[64], path[4096];
    ssize_t length;
    if (!below && !(below = getenv("EVENMATCH_DISK"))) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return !strncmp(path, below, strlen(below));
}

static const char *fault(void) {
    static __thread char text[32];
    const char *name = getenv("EVENMATCH_DISK_FAULT");
    int fd, saved = errno;
    ssize_t length;
    if (!name || (fd = open(name, O_RDONLY)) < 0) { errno = saved; return ""; }
    length = read(fd, text, sizeof text - 1);
    close(fd);
    errno = saved;
    text[length > 0 ? length : 0] = 0;
    return text;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int refuses(int fd, int *torn) {
    const char *how;
    if (!is_meant(fd)) return 0;
    how = fault();
    if (!strcmp(how, "ENOSPC")) return ENOSPC;
    if (!strcmp(how, "EIO")) return EIO;
    *torn = !strcmp(how, "TORN");
    return 0;
}

static void end(int fd) {
    REAL(fdatasync)(fd);
    kill(getpid(), SIGKILL);
}

ssize_t write(int fd, const void *data, size_t size) {
    int torn = 0, error = refuses(fd, &torn);
    if (error) { errno = error; return -1; }
    if (torn && size > 1) { REAL(write)(fd, data, size / 2); end(fd); }
    return REAL(write)(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    int torn = 0, error = refuses(fd, &torn);
    if (error) { errno = error; return -1; }
    if (torn && size > 1) { REAL(pwrite)(fd, data, size / 2, at); end(fd); }
    return REAL(pwrite)(fd, data, size, at);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) { return pwrite(fd, data, size, at); }

static int cannot_sync(int fd) {
    const char *how;
    if (!is_meant(fd)) return 0;
    how = fault();
    return !strncmp(how, "EIO", 3) || !strcmp(how, "ENOSPC");
}

int fsync(int fd) {
    if (cannot_sync(fd)) { errno = EIO; return -1; }
    return REAL(fsync)(fd);
}

int fdatasync(int fd) {
    if (cannot_sync(fd)) { errno = EIO; return -1; }
    return REAL(fdatasync)(fd);
}
