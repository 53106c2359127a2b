//! The cause of a container's end, from the exit of its first process and its control group.

use airside_model::Handle;
use airside_runtime::{Cause, Observed};

use crate::{LocalOptions, cgroup, process::ProcessExit};

/// Returns the end of a container as it is reported. The runtime is not the parent of its first
/// process: without an exit, the kernel did not tell it.
pub(crate) fn observed(
    options: &LocalOptions,
    handle: &Handle,
    exit: Option<ProcessExit>,
) -> Observed {
    let oom_kills = cgroup::oom_kills(&options.installation, handle);
    let (cause, reason) = cause(exit, oom_kills);
    Observed::Gone {
        node: Some(options.worker.to_string()),
        reason,
        cause,
    }
}

/// A process that the kernel killed for its memory matters only if the first one was killed, too:
/// a step may live on without one of its processes.
fn cause(exit: Option<ProcessExit>, oom_kills: u64) -> (Cause, String) {
    match exit {
        Some(ProcessExit::Code(code)) => (
            Cause::Exited { code: Some(code) },
            format!("container exited with code {code}"),
        ),
        None | Some(ProcessExit::Signal(9)) if oom_kills > 0 => {
            (Cause::OutOfMemory, "container ran out of memory".to_owned())
        }
        Some(ProcessExit::Signal(signal)) => (
            Cause::Killed { signal },
            format!("container was killed by signal {signal}"),
        ),
        None => (Cause::Exited { code: None }, "container exited".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_the_first_process_and_its_memory() {
        let killed = Some(ProcessExit::Signal(9));
        for (exit, oom_kills, expected) in [
            (None, 0, Cause::Exited { code: None }),
            (None, 1, Cause::OutOfMemory),
            (killed, 0, Cause::Killed { signal: 9 }),
            (killed, 2, Cause::OutOfMemory),
            (
                Some(ProcessExit::Signal(15)),
                2,
                Cause::Killed { signal: 15 },
            ),
            (
                Some(ProcessExit::Code(0)),
                0,
                Cause::Exited { code: Some(0) },
            ),
            (
                Some(ProcessExit::Code(1)),
                3,
                Cause::Exited { code: Some(1) },
            ),
        ] {
            assert_eq!(cause(exit, oom_kills).0, expected, "{exit:?}, {oom_kills}");
        }
    }
}
