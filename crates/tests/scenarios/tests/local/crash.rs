//! Builds while the server is killed at random, again and again. `AIRSIDE_CRASH_BUILDS` says how
//! many, `AIRSIDE_CRASH_SEED` repeats a run.

use std::{thread, time::Duration};

use airside_scenarios::{
    Counter, Fly, Server, assert_same_text,
    pipelines::{job, task},
};
use rand::{Rng, SeedableRng, rngs::StdRng};

const RESOURCES: &str = "\
resources:
- {name: src, type: mock, source: {force_version: v1, create_files: {text: \"hello\\n\", n: __anew__}, log: a get}}
- {name: out, type: mock, source: {initial_version: v0, create_files: {n: __anew__}, log: a put}}
";

/// The undisturbed build takes about a second; most kills should hit it somewhere.
const LONGEST_WAIT_MS: u64 = 900;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .expect("the variables of this test are numbers"),
    )
}

fn pipeline(counter: &Counter) -> String {
    let lines = "for i in $(seq 200); do echo \"$1 line $i äöü€\"; done";
    let script = |name: &str| {
        format!(
            "{}\nset {name}\n{lines}\nread -t 0.05 < <(sleep 1)\n{lines}",
            counter.bump(name)
        )
    };
    let made = "outputs: [{name: made}]\ninputs: [{name: src}]";
    let plan = [
        "  - get: src\n".to_owned(),
        task(
            "one",
            made,
            &format!("{}\ncp src/text made/version", script("one")),
        ),
        task(
            "two",
            "inputs: [{name: made}]",
            &format!("{}\ncat made/version", script("two")),
        ),
        task("three", "", &script("three")),
        "  - put: out\n    params: {file: made/version}\n".to_owned(),
    ];
    format!("{RESOURCES}{}", job(&plan))
}

/// Kills and restarts the server at random moments until the build has ended.
fn disturb(server: &mut Server, fly: &Fly, build: i64, random: &mut StdRng) -> usize {
    let mut kills = 0;
    // After a few in a row the build is left alone, or it would never get anywhere.
    while kills < 4
        && !fly
            .builds()
            .iter()
            .any(|known| known.id == build && known.has_ended())
    {
        thread::sleep(Duration::from_millis(
            random.random_range(0..LONGEST_WAIT_MS),
        ));
        server.kill_9();
        server.restart();
        kills += 1;
    }
    kills
}

#[test]
fn every_build_ends_right_and_every_step_runs_once() {
    let builds = number("AIRSIDE_CRASH_BUILDS").unwrap_or(10);
    let seed = number("AIRSIDE_CRASH_SEED").unwrap_or_else(|| rand::random::<u32>().into());
    eprintln!("AIRSIDE_CRASH_SEED={seed} AIRSIDE_CRASH_BUILDS={builds}");
    let mut random = StdRng::seed_from_u64(seed);
    let (mut server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    let pipeline = pipeline(&counter);
    fly.pipeline_anew("p", &pipeline);
    fly.trigger_and_watch("p/job").succeeded();
    let expected = fly.watch(1).succeeded().stdout;

    for done in 1..=builds as usize {
        fly.pipeline_anew("p", &pipeline);
        let build = fly.trigger("p/job");
        let kills = disturb(&mut server, &fly, build.id, &mut random);
        let output = fly.watch(build.id);
        eprintln!(
            "build {} with {kills} kills: {:?}",
            build.id,
            output.lines().last()
        );
        assert_same_text(&output.succeeded().stdout, &expected);
        let counts = ["one", "two", "three"].map(|name| counter.count(name));
        assert_eq!(
            counts,
            [1 + done; 3],
            "build {} with {kills} kills",
            build.id
        );
    }
}
