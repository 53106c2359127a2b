//! The filter of system calls, as the small program that the kernel runs before each of them.
//!
//! What is not on the list (`syscalls`) fails with EPERM, and what is newer than the list with
//! ENOSYS, so that programs fall back to what they did before. Programs for another architecture
//! (32-bit ones) find no system calls at all. Installing it takes CAP_SYS_ADMIN (as the shim does,
//! since `sudo` must work) or `no_new_privs`.

use std::{io, mem::offset_of};

use libc::sock_filter;

use crate::syscalls::{self, Rule};

const NUMBER: u32 = offset_of!(libc::seccomp_data, nr) as u32;
const ARCHITECTURE: u32 = offset_of!(libc::seccomp_data, arch) as u32;
const ARGUMENTS: u32 = offset_of!(libc::seccomp_data, args) as u32;

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xC000_00B7;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Allow,
    /// The call is not permitted.
    Deny,
    /// The call does not exist.
    Unknown,
}

impl Answer {
    fn code(self) -> sock_filter {
        let value = match self {
            Self::Allow => libc::SECCOMP_RET_ALLOW,
            Self::Deny => libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
            Self::Unknown => libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32,
        };
        statement(RETURN, value)
    }
}

/// The program. The default allows what ordinary programs need.
#[derive(Clone)]
pub struct Filter(Vec<sock_filter>);

impl Default for Filter {
    fn default() -> Self {
        Self::with_rules(&[])
    }
}

impl Filter {
    /// The default, and no socket of any kind.
    pub fn without_network() -> Self {
        Self::with_rules(syscalls::NETWORK)
    }

    /// The rules that are given count before those that all processes have.
    fn with_rules(rules: &[(libc::c_long, Rule)]) -> Self {
        let mut program = vec![
            statement(LOAD, ARCHITECTURE),
            jump(EQUAL, NATIVE, 1, 0),
            Answer::Unknown.code(),
            statement(LOAD, NUMBER),
        ];
        for (number, rule) in rules.iter().chain(syscalls::RULES) {
            let block = block(rule);
            program.push(jump(EQUAL, number_of(*number), 0, block.len()));
            program.extend(block);
        }
        program.extend(search(&segments(&syscalls::allowed())));
        Self(program)
    }

    /// Installs the filter with system calls alone: it runs between fork and exec.
    pub fn install(&self) -> io::Result<()> {
        let program = libc::sock_fprog {
            len: self.0.len() as libc::c_ushort,
            filter: self.0.as_ptr().cast_mut(),
        };
        // SAFETY: the kernel copies the program, which lives and is as long as it says.
        let installed = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                0,
                &raw const program,
            )
        };
        match installed {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Looks at arguments and answers. It ends the program.
fn block(rule: &Rule) -> Vec<sock_filter> {
    let argument = |index: u32| statement(LOAD, ARGUMENTS + 8 * index);
    match rule {
        Rule::Unknown => vec![Answer::Unknown.code()],
        Rule::Never => vec![Answer::Deny.code()],
        Rule::WithoutBits {
            argument: index,
            bits,
        } => vec![
            argument(*index),
            jump(ANY_BIT, *bits, 0, 1),
            Answer::Deny.code(),
            Answer::Allow.code(),
        ],
        Rule::NoneOf {
            argument: index,
            values,
        } => {
            let mut block = vec![argument(*index)];
            for value in *values {
                block.extend([jump(EQUAL, *value, 0, 1), Answer::Deny.code()]);
            }
            block.push(Answer::Allow.code());
            block
        }
        Rule::OneOf {
            argument: index,
            values,
        } => {
            let mut block = vec![argument(*index)];
            for value in *values {
                block.extend([jump(EQUAL, *value, 0, 1), Answer::Allow.code()]);
            }
            block.push(Answer::Deny.code());
            block
        }
    }
}

/// All numbers, cut where the answer changes.
fn segments(allowed: &[u32]) -> Vec<(u32, Answer)> {
    let mut segments = Vec::new();
    let mut next = 0;
    for number in allowed {
        if *number != next || segments.is_empty() {
            if *number > next {
                segments.push((next, Answer::Deny));
            }
            segments.push((*number, Answer::Allow));
        }
        next = number + 1;
    }
    segments.push((next, Answer::Unknown));
    segments
}

/// A search by halves: a list of comparisons would cost each system call a hundred of them.
fn search(segments: &[(u32, Answer)]) -> Vec<sock_filter> {
    match segments {
        [] => Vec::new(),
        [(_, answer)] => vec![answer.code()],
        _ => {
            let (low, high) = segments.split_at(segments.len() / 2);
            let below = search(low);
            let mut program = vec![jump(AT_LEAST, high[0].0, below.len(), 0)];
            program.extend(below);
            program.extend(search(high));
            program
        }
    }
}

fn number_of(number: libc::c_long) -> u32 {
    u32::try_from(number).expect("system calls have small numbers")
}

fn statement(code: u16, k: u32) -> sock_filter {
    sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

fn jump(code: u16, k: u32, jt: usize, jf: usize) -> sock_filter {
    let short = |offset| u8::try_from(offset).expect("the list is short enough for near jumps");
    sock_filter {
        code,
        jt: short(jt),
        jf: short(jf),
        k,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the program as the kernel would, and returns its answer.
    fn run(program: &[sock_filter], arch: u32, number: libc::c_long, arguments: [u64; 6]) -> u32 {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = &program[at];
            at += 1;
            let near = |yes: bool| usize::from(if yes { step.jt } else { step.jf });
            match step.code {
                LOAD => {
                    loaded = match step.k {
                        NUMBER => number as u32,
                        ARCHITECTURE => arch,
                        k => arguments[(k - ARGUMENTS) as usize / 8] as u32,
                    }
                }
                EQUAL => at += near(loaded == step.k),
                AT_LEAST => at += near(loaded >= step.k),
                ANY_BIT => at += near(loaded & step.k != 0),
                RETURN => return step.k,
                other => panic!("instruction {other}"),
            }
        }
    }

    fn answer(number: libc::c_long, arguments: [u64; 6]) -> Answer {
        let code = run(&Filter::default().0, NATIVE, number, arguments);
        [Answer::Allow, Answer::Deny, Answer::Unknown]
            .into_iter()
            .find(|answer| answer.code().k == code)
            .unwrap()
    }

    #[test]
    fn every_listed_call_is_allowed_and_no_other() {
        let allowed = syscalls::allowed();
        for number in 0..=1000 {
            if syscalls::RULES.iter().any(|(ruled, _)| *ruled == number) {
                continue;
            }
            let expected = match allowed.binary_search(&(number as u32)) {
                Ok(_) => Answer::Allow,
                Err(place) if place == allowed.len() => Answer::Unknown,
                Err(_) => Answer::Deny,
            };
            assert_eq!(answer(number, [0; 6]), expected, "{number}");
        }
    }

    #[test]
    fn dangerous_calls_are_refused() {
        for number in [
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_bpf,
            libc::SYS_init_module,
            libc::SYS_kexec_load,
            libc::SYS_keyctl,
            libc::SYS_reboot,
            libc::SYS_swapon,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_io_uring_setup,
            libc::SYS_open_by_handle_at,
            libc::SYS_fsopen,
            libc::SYS_move_mount,
        ] {
            assert_eq!(answer(number, [0; 6]), Answer::Deny, "{number}");
        }
    }

    #[test]
    #[allow(
        clippy::unnecessary_cast,
        reason = "the types differ between C libraries"
    )]
    fn arguments_count() {
        let first = |value: u64| [value, 0, 0, 0, 0, 0];
        let second = |value: u64| [0, value, 0, 0, 0, 0];
        let thread = libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND;
        for (number, arguments, expected) in [
            (libc::SYS_clone, first(thread as u64), Answer::Allow),
            (
                libc::SYS_clone,
                first(libc::CLONE_NEWUSER as u64),
                Answer::Deny,
            ),
            (libc::SYS_clone3, [0; 6], Answer::Unknown),
            (libc::SYS_socket, first(libc::AF_INET as u64), Answer::Allow),
            (libc::SYS_socket, first(libc::AF_VSOCK as u64), Answer::Deny),
            (libc::SYS_socket, first(libc::AF_ALG as u64), Answer::Deny),
            (
                libc::SYS_ioctl,
                second(libc::TIOCGWINSZ as u64),
                Answer::Allow,
            ),
            (libc::SYS_ioctl, second(libc::TIOCSTI as u64), Answer::Deny),
            (libc::SYS_personality, first(0), Answer::Allow),
            (libc::SYS_personality, first(0x0004_0000), Answer::Deny),
        ] {
            assert_eq!(
                answer(number, arguments),
                expected,
                "{number} {arguments:?}"
            );
        }
    }

    #[test]
    fn a_process_without_a_network_makes_no_socket() {
        let filter = Filter::without_network();
        for number in [libc::SYS_socket, libc::SYS_socketpair] {
            let code = run(&filter.0, NATIVE, number, [libc::AF_UNIX as u64; 6]);
            assert_eq!(code, Answer::Deny.code().k, "{number}");
        }
        let read = run(&filter.0, NATIVE, libc::SYS_read, [0; 6]);
        assert_eq!(read, Answer::Allow.code().k);
    }

    #[test]
    fn programs_for_another_architecture_find_nothing() {
        let code = run(&Filter::default().0, 0x4000_0003, libc::SYS_read, [0; 6]);
        assert_eq!(code, Answer::Unknown.code().k);
    }
}
