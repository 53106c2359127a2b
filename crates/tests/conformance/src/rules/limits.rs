//! The limits of a step, and the messages when they were too low.

use airside_model::task::ContainerLimits;
use airside_orchestrator::StepEnd;

use crate::{Bench, step::output};

pub async fn limits_are_exact_and_can_be_read_inside(bench: &Bench) {
    let script = "cd /sys/fs/cgroup; cat memory/memory.limit_in_bytes memory.max 2>/dev/null; \
        cat cpu/cpu.shares cpu.weight 2>/dev/null; true";
    let ran = bench
        .run(script, |request| {
            request.limits = ContainerLimits {
                cpu: Some(512),
                memory: Some(1 << 30),
            };
        })
        .await;
    let read: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(read.len(), 2, "{ran:#?}");
    assert_eq!(read[0], "1073741824", "{ran:#?}");
    // As shares, or as the weight that the kernel or the container's maker turns them into.
    assert!(["512", "20", "59"].contains(&read[1]), "{ran:#?}");
}

pub async fn running_out_of_memory_is_told(bench: &Bench) {
    let ran = bench
        .run("tail /dev/zero; echo code $?; exit 5", |request| {
            request.limits.memory = Some(48 << 20);
        })
        .await;
    ran.assert_exited(5);
    assert_eq!(ran.stdout, "code 137\n", "{ran:#?}");
    let words = "out of memory: a process was killed: the step's limit is 50331648 bytes";
    assert!(ran.stderr.contains(words), "{ran:#?}");
}

/// The worker and other steps live on.
pub async fn a_step_that_forks_for_ever_ends(bench: &Bench) {
    bench.stops_soon();
    let (lease, request) = bench
        .request("f() { f & f & }; echo go; f; f; f; sleep 600")
        .await;
    let bomb = bench.start(lease, request).await;
    bomb.says(bench, "go").await;
    bench.run("echo others run", |_| {}).await.assert_exited(0);
    bomb.cancel.cancel();
    let ran = bomb.end(bench).await;
    // It may have come to its own end over it.
    assert!(
        matches!(ran.end, StepEnd::Stopped(()) | StepEnd::Exited(_)),
        "{ran:#?}"
    );
    bench.run("echo others run", |_| {}).await.assert_exited(0);
}

/// Nothing writes to an output once it is a volume.
pub async fn what_a_step_leaves_running_is_ended(bench: &Bench) {
    let script = "setsid sh -c 'trap \"\" TERM HUP INT; echo up >out/up; \
        while :; do echo x >>out/file; done' & while ! test -e out/up; do :; done; echo bye";
    let ran = bench
        .run(script, |request| {
            request.outputs = vec![output("out", "/step/out")]
        })
        .await;
    ran.assert_exited(0);
    assert_eq!(ran.stdout, "bye\n", "{ran:#?}");
    bench.wait_until_empty().await;
}

pub async fn a_step_may_ignore_its_input(bench: &Bench) {
    let stdin = "x".repeat(1 << 20);
    let ran = bench
        .run("exit 3", |request| request.stdin = Some(stdin))
        .await;
    ran.assert_exited(3);
}

pub async fn devices_are_few(bench: &Bench) {
    let script = "ls /dev/fuse; ls /dev | grep -E '^(sd|vd|nvme|loop|mem|kmsg|kvm)'; exit 0";
    let ran = bench.run(script, |_| {}).await;
    assert_eq!(ran.stdout, "", "{ran:#?}");
    assert!(
        ran.stderr.contains("/dev/fuse: No such file or directory"),
        "{ran:#?}"
    );
}
