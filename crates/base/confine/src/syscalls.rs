//! System calls that a confined process may make: those that ordinary programs need, also build
//! tools, debuggers and `sudo`; none that changes the machine, its mounts, its namespaces or its
//! kernel.
//!
//! The measure is containerd's list for an unprivileged container, less calls that kernels have
//! had trouble with (`io_uring`, `userfaultfd`, memory policies).

/// A call that is allowed for some arguments.
pub(crate) enum Rule {
    /// Answers as if the kernel did not have the call.
    Unknown,
    /// Refused, whatever the arguments.
    Never,
    WithoutBits {
        argument: u32,
        bits: u32,
    },
    NoneOf {
        argument: u32,
        values: &'static [u32],
    },
    OneOf {
        argument: u32,
        values: &'static [u32],
    },
}

const NEW_NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

/// The calls that a process without a network does without.
pub(crate) const NETWORK: &[(libc::c_long, Rule)] = &[
    (libc::SYS_socket, Rule::Never),
    (libc::SYS_socketpair, Rule::Never),
];

/// Linux, Linux for 32-bit programs, both with an old version's name, and the question which it is.
const PERSONALITIES: &[u32] = &[0x0, 0x8, 0x2_0000, 0x2_0008, 0xFFFF_FFFF];

pub(crate) const RULES: &[(libc::c_long, Rule)] = &[
    (
        libc::SYS_clone,
        Rule::WithoutBits {
            argument: 0,
            bits: NEW_NAMESPACES,
        },
    ),
    // Its flags are in memory, where no filter can look; C libraries then use the older call.
    (libc::SYS_clone3, Rule::Unknown),
    (
        libc::SYS_socket,
        Rule::NoneOf {
            argument: 0,
            values: &[libc::AF_VSOCK as u32, libc::AF_ALG as u32],
        },
    ),
    // Typing into the terminal of another process.
    (
        libc::SYS_ioctl,
        Rule::NoneOf {
            argument: 1,
            values: &[libc::TIOCSTI as u32, TIOCLINUX],
        },
    ),
    (
        libc::SYS_personality,
        Rule::OneOf {
            argument: 0,
            values: PERSONALITIES,
        },
    ),
];

const TIOCLINUX: u32 = 0x541C;

/// The numbers, in order, each once.
pub(crate) fn allowed() -> Vec<u32> {
    let lists = COMMON.iter().chain(RECENT).chain(OLD);
    let mut numbers: Vec<u32> = lists
        .map(|number| u32::try_from(*number).expect("system calls have small numbers"))
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// System calls that are too new for the libraries we build with; numbers from 424 on are the same
/// everywhere.
const RECENT: &[libc::c_long] = &[
    451, // cachestat
    453, // map_shadow_stack
    454, // futex_wake
    455, // futex_wait
    456, // futex_requeue
];

#[rustfmt::skip]
const COMMON: &[libc::c_long] = &[
    libc::SYS_accept, libc::SYS_accept4, libc::SYS_adjtimex, libc::SYS_bind, libc::SYS_brk,
    libc::SYS_capget, libc::SYS_capset, libc::SYS_chdir, libc::SYS_chroot, libc::SYS_clock_adjtime,
    libc::SYS_clock_getres, libc::SYS_clock_gettime, libc::SYS_clock_nanosleep, libc::SYS_close,
    libc::SYS_close_range, libc::SYS_connect, libc::SYS_copy_file_range, libc::SYS_dup,
    libc::SYS_dup3, libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2, libc::SYS_eventfd2, libc::SYS_execve, libc::SYS_execveat,
    libc::SYS_exit, libc::SYS_exit_group, libc::SYS_faccessat, libc::SYS_faccessat2,
    libc::SYS_fadvise64, libc::SYS_fallocate, libc::SYS_fanotify_mark, libc::SYS_fchdir,
    libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchmodat2, libc::SYS_fchown, libc::SYS_fchownat,
    libc::SYS_fcntl, libc::SYS_fdatasync, libc::SYS_fgetxattr, libc::SYS_flistxattr,
    libc::SYS_flock, libc::SYS_fremovexattr, libc::SYS_fsetxattr, libc::SYS_fstat,
    libc::SYS_fstatfs, libc::SYS_fsync, libc::SYS_ftruncate, libc::SYS_futex, libc::SYS_futex_waitv,
    libc::SYS_get_robust_list, libc::SYS_getcpu, libc::SYS_getcwd, libc::SYS_getdents64,
    libc::SYS_getegid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getgroups,
    libc::SYS_getitimer, libc::SYS_getpeername, libc::SYS_getpgid, libc::SYS_getpid,
    libc::SYS_getppid, libc::SYS_getpriority, libc::SYS_getrandom, libc::SYS_getresgid,
    libc::SYS_getresuid, libc::SYS_getrlimit, libc::SYS_getrusage, libc::SYS_getsid,
    libc::SYS_getsockname, libc::SYS_getsockopt, libc::SYS_gettid, libc::SYS_gettimeofday,
    libc::SYS_getuid, libc::SYS_getxattr, libc::SYS_inotify_add_watch, libc::SYS_inotify_init1,
    libc::SYS_inotify_rm_watch, libc::SYS_io_cancel, libc::SYS_io_destroy, libc::SYS_io_getevents,
    libc::SYS_io_setup, libc::SYS_io_submit, libc::SYS_ioprio_get, libc::SYS_ioprio_set,
    libc::SYS_kill, libc::SYS_landlock_add_rule, libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_restrict_self, libc::SYS_lgetxattr, libc::SYS_linkat, libc::SYS_listen,
    libc::SYS_listxattr, libc::SYS_llistxattr, libc::SYS_lremovexattr, libc::SYS_lseek,
    libc::SYS_lsetxattr, libc::SYS_madvise, libc::SYS_membarrier, libc::SYS_memfd_create,
    libc::SYS_memfd_secret, libc::SYS_mincore, libc::SYS_mkdirat, libc::SYS_mknodat,
    libc::SYS_mlock, libc::SYS_mlock2, libc::SYS_mlockall, libc::SYS_mmap, libc::SYS_mprotect,
    libc::SYS_mq_getsetattr, libc::SYS_mq_notify, libc::SYS_mq_open, libc::SYS_mq_timedreceive,
    libc::SYS_mq_timedsend, libc::SYS_mq_unlink, libc::SYS_mremap, libc::SYS_mseal,
    libc::SYS_msgctl, libc::SYS_msgget, libc::SYS_msgrcv, libc::SYS_msgsnd, libc::SYS_msync,
    libc::SYS_munlock, libc::SYS_munlockall, libc::SYS_munmap, libc::SYS_name_to_handle_at,
    libc::SYS_nanosleep, libc::SYS_newfstatat, libc::SYS_openat, libc::SYS_openat2,
    libc::SYS_pidfd_getfd, libc::SYS_pidfd_open, libc::SYS_pidfd_send_signal, libc::SYS_pipe2,
    libc::SYS_pkey_alloc, libc::SYS_pkey_free, libc::SYS_pkey_mprotect, libc::SYS_ppoll,
    libc::SYS_prctl, libc::SYS_pread64, libc::SYS_preadv, libc::SYS_preadv2, libc::SYS_prlimit64,
    libc::SYS_process_madvise, libc::SYS_process_mrelease, libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev, libc::SYS_pselect6, libc::SYS_ptrace, libc::SYS_pwrite64,
    libc::SYS_pwritev, libc::SYS_pwritev2, libc::SYS_read, libc::SYS_readahead,
    libc::SYS_readlinkat, libc::SYS_readv, libc::SYS_recvfrom, libc::SYS_recvmmsg,
    libc::SYS_recvmsg, libc::SYS_remap_file_pages, libc::SYS_removexattr, libc::SYS_renameat,
    libc::SYS_renameat2, libc::SYS_restart_syscall, libc::SYS_rseq, libc::SYS_rt_sigaction,
    libc::SYS_rt_sigpending, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_sigreturn, libc::SYS_rt_sigsuspend, libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_tgsigqueueinfo, libc::SYS_sched_get_priority_max, libc::SYS_sched_get_priority_min,
    libc::SYS_sched_getaffinity, libc::SYS_sched_getattr, libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler, libc::SYS_sched_rr_get_interval, libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr, libc::SYS_sched_setparam, libc::SYS_sched_setscheduler,
    libc::SYS_sched_yield, libc::SYS_seccomp, libc::SYS_semctl, libc::SYS_semget, libc::SYS_semop,
    libc::SYS_semtimedop, libc::SYS_sendfile, libc::SYS_sendmmsg, libc::SYS_sendmsg,
    libc::SYS_sendto, libc::SYS_set_robust_list, libc::SYS_set_tid_address, libc::SYS_setfsgid,
    libc::SYS_setfsuid, libc::SYS_setgid, libc::SYS_setgroups, libc::SYS_setitimer,
    libc::SYS_setpgid, libc::SYS_setpriority, libc::SYS_setregid, libc::SYS_setresgid,
    libc::SYS_setresuid, libc::SYS_setreuid, libc::SYS_setrlimit, libc::SYS_setsid,
    libc::SYS_setsockopt, libc::SYS_setuid, libc::SYS_setxattr, libc::SYS_shmat, libc::SYS_shmctl,
    libc::SYS_shmdt, libc::SYS_shmget, libc::SYS_shutdown, libc::SYS_sigaltstack,
    libc::SYS_signalfd4, libc::SYS_socketpair, libc::SYS_splice, libc::SYS_statfs, libc::SYS_statx,
    libc::SYS_symlinkat, libc::SYS_sync, libc::SYS_sync_file_range, libc::SYS_syncfs,
    libc::SYS_sysinfo, libc::SYS_tee, libc::SYS_tgkill, libc::SYS_timer_create,
    libc::SYS_timer_delete, libc::SYS_timer_getoverrun, libc::SYS_timer_gettime,
    libc::SYS_timer_settime, libc::SYS_timerfd_create, libc::SYS_timerfd_gettime,
    libc::SYS_timerfd_settime, libc::SYS_times, libc::SYS_tkill, libc::SYS_truncate,
    libc::SYS_umask, libc::SYS_uname, libc::SYS_unlinkat, libc::SYS_utimensat, libc::SYS_vmsplice,
    libc::SYS_wait4, libc::SYS_waitid, libc::SYS_write, libc::SYS_writev,
];

#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLD: &[libc::c_long] = &[
    libc::SYS_access, libc::SYS_alarm, libc::SYS_arch_prctl, libc::SYS_chmod, libc::SYS_chown,
    libc::SYS_creat, libc::SYS_dup2, libc::SYS_epoll_create, libc::SYS_epoll_ctl_old,
    libc::SYS_epoll_wait, libc::SYS_epoll_wait_old, libc::SYS_eventfd, libc::SYS_fork,
    libc::SYS_futimesat, libc::SYS_getdents, libc::SYS_getpgrp, libc::SYS_inotify_init,
    libc::SYS_lchown, libc::SYS_link, libc::SYS_lstat, libc::SYS_mkdir, libc::SYS_mknod,
    libc::SYS_modify_ldt, libc::SYS_open, libc::SYS_pause, libc::SYS_pipe, libc::SYS_poll,
    libc::SYS_readlink, libc::SYS_rename, libc::SYS_rmdir, libc::SYS_select, libc::SYS_signalfd,
    libc::SYS_stat, libc::SYS_symlink, libc::SYS_time, libc::SYS_unlink, libc::SYS_ustat,
    libc::SYS_utime, libc::SYS_utimes, libc::SYS_vfork,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[libc::c_long] = &[];
