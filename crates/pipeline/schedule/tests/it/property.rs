//! Random worlds, written as text so that a failure can be read and kept as a case.

use airside_schedule::{Resolver, View, resolve};
use proptest::prelude::*;

use crate::brute;
use crate::world::{World, parse};

const JOBS: [&str; 3] = ["a", "b", "c"];
const RESOURCES: [&str; 3] = ["x", "y", "z"];

/// The wildness of a world.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// Builds may carry versions that are not there any more.
    gone: bool,
    /// Any number of inputs may have both `every` and `passed`.
    many_every: bool,
    builds: usize,
}

/// Worlds that the slow solver knows.
const PLAIN: Kind = Kind {
    gone: false,
    many_every: false,
    builds: 9,
};

pub(crate) const WILD: Kind = Kind {
    gone: true,
    many_every: true,
    builds: 40,
};

#[derive(Clone, Debug)]
struct Build {
    job: usize,
    succeeds: bool,
    rerun_of: Option<prop::sample::Index>,
    takes: [Option<i64>; 3],
    makes: [Option<i64>; 3],
}

fn carried(kind: Kind) -> impl Strategy<Value = [Option<i64>; 3]> {
    let most: i64 = if kind.gone { 5 } else { 4 };
    prop::array::uniform3(prop::option::weighted(0.6, 1..most))
}

fn build(kind: Kind) -> impl Strategy<Value = Build> {
    let makes = prop::array::uniform3(prop::option::weighted(0.15, 1..4_i64));
    let rerun = prop::option::weighted(0.2, any::<prop::sample::Index>());
    (
        0..3_usize,
        prop::bool::weighted(0.85),
        rerun,
        carried(kind),
        makes,
    )
        .prop_map(|(job, succeeds, rerun_of, takes, makes)| Build {
            job,
            succeeds,
            rerun_of,
            takes,
            makes,
        })
}

fn versions_text(all: [Option<i64>; 3]) -> String {
    let named = RESOURCES.iter().zip(all);
    let texts = named.filter_map(|(name, number)| Some(format!("{name}{}", number?)));
    texts.collect::<Vec<String>>().join(" ")
}

fn builds_text(builds: &[Build]) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut succeeded = Vec::new();
    for (index, build) in builds.iter().enumerate() {
        let id = index + 1;
        let originals = builds[..index]
            .iter()
            .enumerate()
            .filter(|(_, other)| other.job == build.job && other.rerun_of.is_none());
        let originals: Vec<usize> = originals.map(|(at, _)| at + 1).collect();
        let of = match build.rerun_of {
            Some(index) if !originals.is_empty() => format!(" of {}", index.get(&originals)),
            _ => String::new(),
        };
        let verb = if build.succeeds { "done" } else { "failed" };
        if build.succeeds {
            succeeded.push(id);
        }
        let (takes, makes) = (versions_text(build.takes), versions_text(build.makes));
        let job = JOBS[build.job];
        text += &format!("{verb} {job}#{id}{of}: {takes} -> {makes}\n");
    }
    (text, succeeded)
}

fn inputs(kind: Kind) -> impl Strategy<Value = String> {
    let one = (0..3_usize, 0..8_u8, 0..8_u8);
    prop::collection::vec(one, 1..4).prop_map(move |inputs| {
        let mut has_every = false;
        let mut text = String::new();
        for (index, (resource, want, passed)) in inputs.iter().enumerate() {
            let passed: Vec<&str> = (0..3)
                .filter(|job| passed & (1 << job) != 0)
                .map(|job| JOBS[job])
                .collect();
            let every_may = passed.is_empty() || kind.many_every || !has_every;
            let want = match want {
                0 => " pin ref=1",
                1 => " pin parity=odd",
                2..=4 if every_may => {
                    has_every |= !passed.is_empty();
                    " every"
                }
                _ => "",
            };
            let passed = match passed.len() {
                0 => String::new(),
                _ => format!(" passed {}", passed.join(" ")),
            };
            text += &format!("get i{index} of {}{want}{passed}\n", RESOURCES[*resource]);
        }
        text
    })
}

pub(crate) fn world(kind: Kind) -> impl Strategy<Value = String> {
    let versions = prop::array::uniform3(prop::array::uniform3(prop::bool::weighted(0.85)));
    let from = prop::collection::vec(any::<prop::sample::Index>(), 0..4);
    let used = prop::collection::vec((carried(PLAIN), from), 0..3);
    let builds = prop::collection::vec(build(kind), 0..kind.builds);
    (versions, builds, used, inputs(kind)).prop_map(|(versions, builds, used, inputs)| {
        let mut text = String::new();
        for (name, enabled) in RESOURCES.iter().zip(versions) {
            let signs = enabled.map(|enabled| if enabled { "" } else { "-" });
            let [a, b, c] = signs;
            text += &format!("versions {name}: {a}1 {b}2 {c}3\n");
        }
        // Jobs get their numbers in this order.
        let (builds, succeeded) = builds_text(&builds);
        text += &builds;
        for (index, (takes, from)) in used.iter().enumerate() {
            let mut from: Vec<usize> = from
                .iter()
                .filter(|_| !succeeded.is_empty())
                .map(|index| *index.get(&succeeded))
                .collect();
            from.sort();
            from.dedup();
            let from: Vec<String> = from.iter().map(ToString::to_string).collect();
            let takes = versions_text(*takes);
            let from = if from.is_empty() {
                String::new()
            } else {
                format!(" from {}", from.join(" "))
            };
            text += &format!("used #{}: {takes}{from}\n", 100 + index);
        }
        text + &inputs
    })
}

/// A build came from one build of each upstream job: the newest that it names.
pub(crate) fn read(text: &str) -> World {
    let mut world = parse(text);
    for build in &mut world.builds {
        let all = build.pipes.clone();
        build.pipes.retain(|(job, key)| {
            let mut others = all.iter().filter(|(other, _)| other == job);
            others.all(|(_, other)| other <= key)
        });
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(400), ..ProptestConfig::default() })]

    #[test]
    fn the_resolver_agrees_with_the_slow_solver(text in world(PLAIN)) {
        let world = read(&text);
        let Ok(resolution) = resolve(&world, &world.job());
        let slow = brute::solve(&world);
        prop_assert_eq!(world.show(&resolution), world.show(&slow), "in\n{}", text);
    }

    #[test]
    fn asking_page_by_page_makes_no_difference(text in world(WILD), page in 1..5_usize) {
        let world = read(&text);
        let Ok(whole) = resolve(&world, &world.job());
        let (by_pages, _) = world.resolve_with(&mut View::with_pages_of(page));
        prop_assert_eq!(world.show(&whole), world.show(&by_pages), "in\n{}", text);
    }

    #[test]
    fn a_search_ends_after_so_many_tries(text in world(WILD), tries in 0..20_u32) {
        let world = read(&text);
        let job = world.job();
        let Ok(cut) = Resolver::new(&job).with_most_tries(tries).resume(&world);
        let Ok(whole) = resolve(&world, &job);
        prop_assert!(cut == whole || cut.gave_up, "in\n{}", text);
    }

    #[test]
    fn a_filled_view_asks_nothing(text in world(WILD)) {
        let world = read(&text);
        let mut view = View::default();
        let (first, _) = world.resolve_with(&mut view);
        let (second, asked) = world.resolve_with(&mut view);
        prop_assert_eq!(first, second);
        prop_assert_eq!(asked.questions, 0);
    }
}

/// `PROPTEST_CASES` has the last word.
pub(crate) fn cases(wanted: u32) -> u32 {
    let given = std::env::var("PROPTEST_CASES").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(wanted)
}
