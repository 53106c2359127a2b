//! The time to check a pipeline grows with its size and not faster.

use std::time::{Duration, Instant};

use airside_config::load;

/// A name, and a pipeline of a given size.
type Shape = (&'static str, fn(usize) -> String);

fn fastest(text: &str) -> Duration {
    let time = || {
        let started = Instant::now();
        let _ = load(text);
        started.elapsed()
    };
    (0..2).map(|_| time()).min().unwrap_or_default()
}

fn jobs(count: usize, job: impl Fn(usize) -> String) -> String {
    let jobs: String = (0..count).map(|i| format!("- {}\n", job(i))).collect();
    format!("resources: [{{name: r, type: mock}}]\njobs:\n{jobs}")
}

#[test]
fn eight_times_the_pipeline_takes_about_eight_times_as_long() {
    let shapes: [Shape; 8] = [
        ("chain of jobs", |n| {
            jobs(n, |i| {
                let passed = if i == 0 {
                    String::new()
                } else {
                    format!("j{}", i - 1)
                };
                format!("{{name: j{i}, plan: [{{get: r, passed: [{passed}]}}]}}")
            })
        }),
        ("unknown jobs", |n| {
            jobs(n, |i| {
                format!("{{name: j{i}, plan: [{{get: r, passed: [k{i}]}}]}}")
            })
        }),
        ("unknown resources", |n| {
            jobs(n, |i| format!("{{name: j{i}, plan: [{{get: s{i}}}]}}"))
        }),
        ("unknown fields", |n| {
            jobs(1, |_| {
                let fields: String = (0..n).map(|i| format!(", plann{i}: 1")).collect();
                format!("{{name: j{fields}}}")
            })
        }),
        ("renames", |n| {
            jobs(n, |i| {
                format!("{{name: j{i}, old_name: j{}, plan: [{{get: r}}]}}", i + 1)
            })
        }),
        ("steps", |n| {
            jobs(1, |_| {
                let steps: String = (0..n)
                    .map(|i| format!("{{get: g{i}, resource: r}},"))
                    .collect();
                format!("{{name: j, plan: [{steps}]}}")
            })
        }),
        ("var sources", |n| {
            let sources: String = (0..n)
                .map(|i| {
                    format!(
                        "- {{name: v{i}, type: dummy, config: {{vars: {{x: '((v{}:x))'}}}}}}\n",
                        i + 1
                    )
                })
                .collect();
            format!("var_sources:\n{sources}jobs: [{{name: j}}]\n")
        }),
        ("long names", |n| {
            let name = "n".repeat(n * 10);
            format!("jobs: [{{name: {name}, {name}: 1, plan: [{{get: {name}}}]}}]")
        }),
    ];
    for (name, shape) in shapes {
        let (small, large) = (shape(400), shape(3_200));
        // Quadratic would be 64 times; very short times are noise. Other work on the machine can
        // add to any one measurement, but not make the slow fast: once is enough.
        let measure = |_| (fastest(&small), fastest(&large));
        let slow = |(small, large): &(Duration, Duration)| {
            *large >= *small * 24 + Duration::from_millis(100)
        };
        let measured: Vec<_> = (0..10).map(measure).take_while(slow).collect();
        assert!(measured.len() < 10, "{name}: {measured:?}");
    }
}
