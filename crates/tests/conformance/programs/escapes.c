/* A root task that tries to get out of its step. Each attempt that works is one line. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void worked(const char *what, int result) {
    if (result >= 0) printf("worked: %s\n", what);
}

/* In a child, so that one that works does not change the next. */
#define TRY(what, call) \
    do { \
        fflush(stdout); \
        pid_t child = fork(); \
        if (child == 0) { worked(what, (int)(call)); fflush(stdout); _exit(0); } \
        waitpid(child, NULL, 0); \
    } while (0)

static int readable(const char *path) {
    char byte;
    int fd = open(path, O_RDONLY);
    if (fd < 0) return -1;
    int got = (int)read(fd, &byte, 1);
    close(fd);
    return got > 0 ? 0 : -1;
}

static int enter(const char *path) {
    int fd = open(path, O_RDONLY);
    return fd < 0 ? -1 : setns(fd, 0);
}

static int peek(void) {
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
    return process_vm_readv(1, &here, 1, &there, 1, 0) == 1 ? 0 : -1;
}

static int trace(void) {
    if (ptrace(PTRACE_ATTACH, 1, 0, 0) == 0) return 0;
    return ptrace(PTRACE_SEIZE, 1, 0, 0) == 0 ? 0 : -1;
}

/* A disk of the machine, by the number of the root file system's device and of usual ones. */
static int disk(unsigned major, unsigned minor) {
    unlink("/tmp/disk");
    if (mknod("/tmp/disk", S_IFBLK | 0600, makedev(major, minor))) return -1;
    return readable("/tmp/disk");
}

static int tokens(void) {
    char path[300], text[65536];
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int found = -1;
    while (proc && (entry = readdir(proc))) {
        const char *files[] = {"environ", "cmdline"};
        for (int i = 0; i < 2; i++) {
            snprintf(path, sizeof path, "/proc/%s/%s", entry->d_name, files[i]);
            int fd = open(path, O_RDONLY);
            ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
            if (fd >= 0) close(fd);
            if (n > 0 && memmem(text, (size_t)n, "AIRSIDE_", 8)) found = 0;
        }
    }
    return found;
}

int main(void) {
    static char stack[65536];
    struct stat root;
    TRY("reading the shim's environment", readable("/proc/1/environ"));
    TRY("reading the shim's memory", readable("/proc/1/mem"));
    TRY("reading the shim's map", readable("/proc/1/maps"));
    TRY("walking through the shim's root", chdir("/proc/1/root"));
    TRY("opening the shim's files", open("/proc/1/fd/0", O_RDONLY));
    TRY("peeking into the shim", peek());
    TRY("tracing the shim", trace());
    TRY("finding a variable of the shim's", tokens());
    TRY("reading the shim's spool", readable("/.airside/state/spool"));
    TRY("entering the shim's network", enter("/proc/1/ns/net"));
    TRY("entering the shim's mounts", enter("/proc/1/ns/mnt"));
    TRY("a user namespace", unshare(CLONE_NEWUSER));
    TRY("a mount namespace", unshare(CLONE_NEWNS));
    TRY("a namespace by clone", clone((int (*)(void *))_exit, stack + 60000, CLONE_NEWUSER | SIGCHLD, NULL));
    TRY("mounting control groups", mount("cgroup", "/mnt", "cgroup", 0, "memory"));
    TRY("mounting unified control groups", mount("cgroup2", "/tmp", "cgroup2", 0, NULL));
    TRY("mounting /proc", mount("proc", "/tmp", "proc", 0, NULL));
    TRY("making mounts writable", mount(NULL, "/sys", NULL, MS_REMOUNT | MS_BIND, NULL));
    TRY("uncovering /proc", umount2("/proc/kcore", MNT_DETACH));
    TRY("writing a setting of the kernel's", open("/proc/sys/kernel/core_pattern", O_WRONLY));
    TRY("triggering a system request", open("/proc/sysrq-trigger", O_WRONLY));
    TRY("writing a limit of its own", open("/sys/fs/cgroup/memory/memory.limit_in_bytes", O_WRONLY));
    TRY("writing a unified limit", open("/sys/fs/cgroup/memory.max", O_WRONLY));
    TRY("reading the kernel's memory", readable("/proc/kcore"));
    TRY("reading firmware", readable("/sys/firmware/dmi/tables/DMI"));
    TRY("reading the kernel's log", syscall(SYS_syslog, 3, stack, 100));
    if (stat("/", &root) == 0)
        TRY("reading the root file system's disk", disk(major(root.st_dev), minor(root.st_dev)));
    TRY("reading a virtual disk", disk(254, 0));
    TRY("reading a SCSI disk", disk(8, 0));
    TRY("reading memory as a device", mknod("/tmp/mem", S_IFCHR | 0600, makedev(1, 1)) ? -1 : readable("/tmp/mem"));
    TRY("loading a module", syscall(SYS_init_module, stack, 10, ""));
    TRY("loading a kernel", syscall(SYS_kexec_load, 0, 0, NULL, 0));
    TRY("a program in the kernel", syscall(SYS_bpf, 0, stack, 72));
    TRY("a ring to the kernel", syscall(SYS_io_uring_setup, 1, stack));
    TRY("handling page faults", syscall(SYS_userfaultfd, 0));
    TRY("adding a key", syscall(SYS_add_key, "user", "a", "b", 1, -3));
    TRY("setting the time", syscall(SYS_settimeofday, (long[]){0, 0}, NULL));
    TRY("changing the machine's name", sethostname("escaped", 7));
    TRY("rebooting", syscall(SYS_reboot, 0xfee1dead, 672274793, 0, NULL));
    puts("tried all");
    return 0;
}
