// Holds descriptors that no job has made: 7 a file, 8 a pipe, 9 a socket, 10 memory as a job makes it, 11 the same of
// another user (where this is root), 12 memory whose length may change, 13 an empty one, 14 one with another name.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static void check(int ok, const char *what) {
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static void hold(int fd, int number) {
    check(fd >= 0 && dup2(fd, number) == number, "cannot hold a descriptor");
}

static int memory(const char *name, long bytes, int seals) {
    int fd = memfd_create(name, MFD_ALLOW_SEALING);
    check(fd >= 0 && ftruncate(fd, bytes) == 0, "memfd_create");
    check(seals == 0 || fcntl(fd, F_ADD_SEALS, seals) == 0, "seals");
    return fd;
}

int main(int count, char **arguments) {
    long bytes = atol(arguments[2]);
    int sealed = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
    int two[2];
    check(count == 3, "arguments: file bytes");
    hold(open(arguments[1], O_RDONLY), 7);
    check(pipe(two) == 0, "pipe");
    hold(two[0], 8);
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, two) == 0, "socketpair");
    hold(two[0], 9);
    hold(memory("banyan-control", bytes, sealed), 10);
    setfsuid(65534);
    hold(memory("banyan-control", bytes, sealed), 11);
    setfsuid(0);
    hold(memory("banyan-control", bytes, 0), 12);
    hold(memory("banyan-control", 0, 0), 13);
    hold(memory("other", bytes, sealed), 14);
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
