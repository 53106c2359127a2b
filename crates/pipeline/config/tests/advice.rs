//! Warnings that only callers get that request advice: types that are not there, and artifacts that
//! are not there when a step begins.

#![allow(clippy::unwrap_used, reason = "this is how tests fail")]

use airside_config::load;

fn advice(text: &str) -> Vec<String> {
    let native = ["git", "mock", "registry-image", "semver", "time"];
    let node = airside_config::parse(text).unwrap();
    let loaded = airside_config::load_node_with_advice(&node, &native).unwrap();
    assert_eq!(load(text).unwrap().warnings, [], "a server does not warn");
    let shown = |warning: airside_config::Warning| {
        let line = warning.span.map_or(0, |span| span.start.line);
        format!("{line} {}: {}", warning.type_, warning.message)
    };
    loaded.warnings.into_iter().map(shown).collect()
}

#[test]
fn advice_names_types_that_are_not_there_and_how_to_bring_them() {
    let text = "resource_types:
- {name: mine, type: docker-image, source: {repository: a}}
- {name: cf, type: cf}
resources:
- {name: lock, type: tracker}
- {name: base, type: docker-image, source: {repository: a}}
- {name: made, type: docker-image, source: {repository: a}}
- {name: own, type: mine}
- {name: number, type: semver}
- {name: code, type: git}
- {name: clock, type: time}
- {name: some, type: ((type))}
jobs:
- name: j
  plan:
  - in_parallel: [{get: lock}, {get: base}, {get: own}, {get: number}, {get: code}, {get: clock}, {get: some}]
  - {put: made, no_get: true}
  - task: t
    config: {platform: linux, image_resource: {type: docker-image, source: {repository: a}}}
  - task: u
    config: {platform: linux, image_resource: {type: hg}}
";
    let line = |type_: &str| {
        format!(
            "resource type `{type_}` is not part of Airside; the pipeline can bring it with this line in `resource_types`: \
             {{name: {type_}, type: registry-image, source: {{repository: concourse/{type_}-resource}}}}"
        )
    };
    let found = advice(text);
    let expected = [
        format!("3 missing_type: resource_types.cf: {}", line("cf")),
        format!("5 missing_type: resources.lock: {}", line("tracker")),
        "7 missing_type: resources.made: Airside reads resource type `docker-image` as `registry-image`, which can be \
         checked and got. To put an image, build it in a task and put the file to a `registry-image`: on Kubernetes without \
         privileges, as examples/source-to-image.yml does, and on one machine in a privileged task, as examples/release.yml \
         does; or bring Docker's type with this line in `resource_types`: {name: docker-image, \
         type: registry-image, source: {repository: concourse/docker-image-resource}, privileged: true}"
            .to_owned(),
        format!(
            "21 missing_type: jobs.j.plan.do[3].task(u).config.image_resource.type: {}",
            line("hg")
        ),
    ];
    assert_eq!(found, expected);
}

#[test]
fn advice_names_artifacts_that_no_step_makes() {
    let task = "config: {platform: linux, outputs: [{name: out}], run: {path: x}}, output_mapping: {out: built}";
    let text = |first: &str| {
        format!(
            "resources: [{{name: r, type: mock}}]\njobs:\n- name: j\n  plan:\n  - {{get: r}}\n  - {{task: t, {first}}}\n  \
             - {{load_var: v, file: ci/v.json}}\n  - {{set_pipeline: self, file: built/p.yml}}\n  - {{task: u, image: img, {task}}}\n"
        )
    };
    let never = "but no step of this job makes it";
    assert_eq!(
        advice(&text(task)),
        [
            format!(
                "7 missing_artifact: jobs.j.plan.do[2].load_var(v): `file` is in the artifact `ci`, {never}"
            ),
            format!(
                "9 missing_artifact: jobs.j.plan.do[4].task(u): `image` is in the artifact `img`, {never}"
            ),
        ]
    );
    // The file may say that the task makes any of them.
    assert_eq!(advice(&text("file: r/t.yml")), Vec::<String>::new());
}

/// Returns the artifacts that a job's steps miss, each with the reason in one word.
fn missing_artifacts(plan: &str) -> Vec<String> {
    let text = format!(
        "resources: [{{name: r, type: mock}}, {{name: s, type: mock}}]\n\
         prototypes: [{{name: p, type: mock}}]\njobs:\n- {{name: all, plan: [{{get: r}}, {{get: s}}]}}\n- name: j\n  plan:\n{plan}\n"
    );
    let found = advice(&text).into_iter();
    let found = found.filter(|line| line.contains("missing_artifact"));
    found
        .map(|line| {
            let artifact = line.split("the artifact `").nth(1).unwrap();
            let (artifact, why) = artifact.split_once('`').unwrap();
            let why = ["no step", "later step", "another branch"]
                .into_iter()
                .find(|words| why.contains(words));
            format!("{artifact}: {}", why.unwrap())
        })
        .collect()
}

#[test]
fn an_artifact_must_be_made_before_it_is_used() {
    let task = |name: &str, rest: &str, config: &str| {
        format!("{{task: {name}, {rest} config: {{platform: linux, run: {{path: x}}, {config}}}}}")
    };
    let makes = |out: &str| task("make", "", &format!("outputs: [{{name: {out}}}]"));
    let needs = |input: &str| task("use", "", &format!("inputs: [{{name: {input}}}]"));
    let load = |file: &str| {
        let name = file.replace(|c: char| !c.is_ascii_lowercase(), "-");
        format!("{{load_var: v{name}, file: {file}}}")
    };
    let list =
        |steps: &[String]| -> String { steps.iter().map(|step| format!("  - {step}\n")).collect() };
    let flow = |steps: &[String]| steps.join(", ");
    let get = || "{get: r}".to_owned();
    let cases: &[(String, &[&str])] = &[
        (list(&[get(), load("r/a")]), &[]),
        (list(&[load("r/a"), get()]), &["r: later step"]),
        (list(&[load("a"), get()]), &["a: no step"]),
        (
            list(&["{get: x, resource: r}".into(), load("x/a"), load("r/a")]),
            &["r: no step"],
        ),
        (list(&["{put: r}".into(), load("r/a")]), &[]),
        (
            list(&["{put: r, no_get: true}".into(), load("r/a")]),
            &["r: no step"],
        ),
        (
            list(&[makes("out"), load("out/a"), needs("out"), needs("in")]),
            &["in: no step"],
        ),
        // Names of inputs and outputs may be mapped, and inputs optional.
        (
            list(&[
                task("t", "output_mapping: {out: o},", "outputs: [{name: out}]"),
                task("u", "input_mapping: {in: o},", "inputs: [{name: in}]"),
                task("w", "", "inputs: [{name: none, optional: true}]"),
                needs("out"),
            ]),
            &["out: no step"],
        ),
        // A task file and a prototype may make anything, from then on.
        (
            list(&[
                needs("a"),
                get(),
                "{task: t, file: r/t.yml}".into(),
                needs("b"),
            ]),
            &["a: no step"],
        ),
        (list(&["{run: m, type: p}".into(), needs("b")]), &[]),
        // A name with a variable may be any name.
        (
            list(&[
                makes("((name))"),
                needs("b"),
                needs("((b))"),
                load("((b))/c"),
            ]),
            &[],
        ),
        // Branches do not see each other's, unless they run one at a time.
        (
            format!(
                "  - in_parallel: [{}]\n{}",
                flow(&[get(), load("r/a")]),
                list(&[needs("r")])
            ),
            &["r: another branch"],
        ),
        (
            format!(
                "  - in_parallel: {{limit: 1, steps: [{}]}}\n",
                flow(&[get(), load("r/a")])
            ),
            &[],
        ),
        (
            format!(
                "  - in_parallel: {{limit: 2, steps: [{}]}}\n",
                flow(&[load("r/a"), get()])
            ),
            &["r: later step"],
        ),
        (
            format!(
                "  - in_parallel: [{{do: [{}]}}, {{get: s}}]\n{}",
                flow(&[get(), load("r/a")]),
                list(&[load("s/a")])
            ),
            &[],
        ),
        (
            format!(
                "{}  - in_parallel: [{{in_parallel: [{{task: t, file: r/t.yml}}]}}, {}]\n",
                list(&[get()]),
                needs("any")
            ),
            &["any: no step"],
        ),
        // Hooks run after their step, and see what it made.
        (
            format!(
                "  - get: r\n    on_failure: {}\n    ensure: {}\n",
                load("r/a"),
                load("s/a")
            ),
            &["s: no step"],
        ),
        (
            format!(
                "  - get: r\n    on_success: {{put: s}}\n{}",
                list(&[load("s/a")])
            ),
            &[],
        ),
        (
            format!(
                "  - try: {{get: r}}\n{}  ensure: {}",
                list(&[load("r/a")]),
                load("r/b")
            ),
            &[],
        ),
        (
            format!(
                "  - across: [{{var: v, values: [1]}}]\n    do: [{}]\n{}",
                flow(&[get(), load("r/((.:v))")]),
                list(&[needs("r")])
            ),
            &[],
        ),
        (
            list(&[
                get(),
                "{set_pipeline: p, file: r/p.yml, var_files: [r/a, b/c]}".into(),
            ]),
            &["b: no step"],
        ),
        (
            list(&[
                "{put: r, inputs: [b]}".into(),
                "{put: s, inputs: all, params: {file: c/d}}".into(),
            ]),
            &["b: no step"],
        ),
    ];
    for (plan, expected) in cases {
        assert_eq!(missing_artifacts(plan), *expected, "{plan}");
    }
}
