//! Rules about steps, modifiers, types, sources and names, and what is said when they are broken.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

use airside_config::load;

#[track_caller]
fn check(text: &str, expected: &str) {
    let problems = load(text).expect_err("the pipeline is wrong");
    let line = |problem: &airside_config::Problem| match problem.span {
        Some(span) => format!("{}:{} {problem}", span.start.line, span.start.column),
        None => format!("- {problem}"),
    };
    let shown: Vec<String> = problems.iter().map(line).collect();
    assert_eq!(shown.join("\n"), expected);
}

/// A job whose plan is `plan`, indented as one block, with the resource `r`.
fn with_plan(plan: &str) -> String {
    let head = "resources: [{name: r, type: mock}]\njobs:\n- name: j\n  plan:\n  - get: r\n";
    let plan: String = plan.lines().map(|line| format!("  {line}\n")).collect();
    format!("{head}{plan}")
}

fn warnings(text: &str) -> Vec<String> {
    let loaded = load(text).expect("the pipeline is sound");
    let shown =
        |warning: airside_config::Warning| format!("{}: {}", warning.type_, warning.message);
    loaded.warnings.into_iter().map(shown).collect()
}

#[test]
fn modifiers() {
    check(
        &with_plan(
            "- put: r\n  timeout: soon\n  attempts: 0\n  on_failure: {put: x}\n- do: []\n  timeout: 1x\n  attempts: -3\n- do: []\n  timeout:\n  attempts: two\n  ensure:\n- get: g\n  resource: r\n  fail_fast: true",
        ),
        "7:14 jobs.j.plan.do[1].put(r).timeout: invalid duration 'soon'\n\
         8:15 jobs.j.plan.do[1].attempts: must be greater than 0\n\
         9:23 jobs.j.plan.do[1].on_failure.put(x): unknown resource 'x'\n\
         11:14 jobs.j.plan.do[2].timeout: invalid duration '1x'\n\
         12:15 jobs.j.plan.do[2].attempts: must be greater than 0\n\
         14:5 jobs.j.plan.do[3].timeout: invalid duration ''\n\
         15:15 jobs.j.plan.do[3].attempts: must be a whole number, but is a string\n\
         16:5 jobs.j.plan.do[3].ensure: no step configured\n\
         19:5 jobs.j.plan.do[4]: unknown fields [\"fail_fast\"]",
    );
    check(
        "jobs:\n- name: j\n  ensure: {put: nope}\n  on_abort: {gett: x}\n  on_error:\n  plan: []\n",
        "3:17 jobs.j.plan.ensure.put(nope): unknown resource 'nope'\n\
         4:14 jobs.j.plan.on_abort: no core step type declared (e.g. get, put, task, etc.) (did you mean 'get'?)",
    );
}

#[test]
fn across() {
    check(
        &with_plan(
            "- put: r\n  across: []\n- put: r\n  across:\n- put: r\n  across: 3\n- put: r\n  across:\n  - {var: a, values: [1], max_in_flight: 0}\n  - {var: a, max_in_flight: some}\n  - {values: [1], vlues: x}\n  fail_fast: maybe\n- put: nope\n  across: [{var: b}]",
        ),
        "7:5 jobs.j.plan.do[1].across: no vars specified\n\
         9:5 jobs.j.plan.do[2].across: no vars specified\n\
         11:13 jobs.j.plan.do[3].across: must be a list, but is a number\n\
         14:44 jobs.j.plan.do[4].across[0].max_in_flight: must be greater than 0\n\
         15:7 jobs.j.plan.do[4].across[1]: repeated var name\n\
         15:31 jobs.j.plan.do[4].across[1].max_in_flight: must be `all` or a whole number, but is a string\n\
         16:7 jobs.j.plan.do[4].across[2]: the variable has no name\n\
         16:21 jobs.j.plan.do[4].across[2]: unknown fields [\"vlues\"] (did you mean 'values'?)\n\
         17:16 jobs.j.plan.do[4].fail_fast: must be true or false, but is a string\n\
         18:10 jobs.j.plan.do[5].across.put(nope): unknown resource 'nope'",
    );
}

#[test]
fn other_steps() {
    check(
        &with_plan(
            "- try: {put: nope}\n- try:\n- set_pipeline: p\n- load_var: v\n  format: jsn\n- load_var: v\n  file: r/v\n- run: Bad\n  type: q\n- task: t\n  file: r/t.yml\n  config: {platform: linux}\n- set_pipeline: ''\n  file: x\n  var: {}",
        ),
        "6:16 jobs.j.plan.do[1].try.put(nope): unknown resource 'nope'\n\
         7:5 jobs.j.plan.do[2].try: no step configured\n\
         8:19 jobs.j.plan.do[3].set_pipeline(p): no file specified\n\
         9:15 jobs.j.plan.do[4].load_var(v): no file specified\n\
         10:13 jobs.j.plan.do[4].load_var(v).format: 'jsn' is none of raw, trim, json, yaml, yml (did you mean 'json'?)\n\
         11:15 jobs.j.plan.do[5].load_var(v): repeated var name\n\
         13:10 jobs.j.plan.do[6].run(q.Bad): 'Bad' is not a valid identifier: must start with a lowercase letter or a number\n\
         13:10 jobs.j.plan.do[6].run(q.Bad): unknown prototype 'q'\n\
         15:11 jobs.j.plan.do[7].task(t): must specify one of `file:` or `config:`, not both\n\
         18:19 jobs.j.plan.do[8].set_pipeline(): identifier cannot be an empty string\n\
         20:5 jobs.j.plan.do[8]: unknown fields [\"var\"] (did you mean 'vars'?)",
    );
}

#[test]
fn types_share_one_namespace() {
    check(
        "resource_types:\n- {name: a, type: mock}\n- {name: a, type: mock}\n- {type: mock}\nprototypes:\n- {name: a, type: mock, check_every: soon}\n- name: b\n  defaults: 3\njobs: [{name: j}]\n",
        "3:3 resource_types[0] and resource_types[1] have the same name ('a')\n\
         4:3 resource_types[2] has no name\n\
         6:3 resource_types[0] and prototypes[0] have the same name ('a')\n\
         6:38 prototypes.a.check_every: invalid duration 'soon'\n\
         7:3 prototypes.b has no type\n\
         8:13 prototypes.b.defaults: must be a map, but is a number",
    );
    let chain: String = (0..10)
        .map(|i| format!("- {{name: t{i}, type: t{}}}\n", i + 1))
        .collect();
    let problems = load(&format!("resource_types:\n{chain}jobs: [{{name: j}}]\n")).unwrap_err();
    let words = "resource_types.t0: is made of types in a chain of more than 8";
    assert_eq!(problems[0].to_string(), words);
    // A type may hide the one it is made of.
    load("resource_types: [{name: mock, type: mock}]\njobs: [{name: j}]").unwrap();
}

#[test]
fn var_sources() {
    check(
        "var_sources:\n- {name: a, type: vualt}\n- {name: b, type: credhub}\n- {name: c, type: vault, config: {url: \"https://x\"}}\n- {name: c, type: vault, config: {client_tokn: x}}\n- {name: d, type: dummy}\n- {name: d2, type: dummy, config: {vars: 1}}\n- {name: e, type: ssm, config: {secret_key: x}}\n- {name: f, type: secretsmanager, config: {access_key: x}}\n- {name: g, type: idtoken, config: {expires_in: 25h}}\n- {name: h, type: idtoken, config: {subject_scope: all}}\n- {type: dummy, config: {vars: {}}, other: 1}\njobs: [{name: j}]\n",
        "2:3 unknown credential manager type: vualt (did you mean 'vault'?)\n\
         3:3 credential manager type credhub is not supported in pipeline yet\n\
         4:3 credential manager c is invalid: must configure client token or auth backend\n\
         5:3 var_sources[2] and var_sources[3] have the same name ('c')\n\
         5:3 credential manager c is invalid: unknown setting 'client_tokn' (did you mean 'client_token'?)\n\
         6:3 failed to create credential manager d: its config must be a map\n\
         7:3 credential manager d2 is invalid: `vars` must be a map\n\
         8:3 credential manager e is invalid: must provide aws access key id\n\
         9:3 credential manager f is invalid: must provide aws secret access key\n\
         10:3 credential manager g is invalid: expires_in must be <= 24h0m0s\n\
         11:3 credential manager h is invalid: subject_scope must be one of team, pipeline, instance, job\n\
         12:3 var_sources[10] has no name\n\
         12:37 var_sources[10]: unknown fields [\"other\"]",
    );
}

#[test]
fn var_sources_are_ordered_by_what_they_need() {
    let source = |name: &str, value: &str| {
        format!("- {{name: {name}, type: dummy, config: {{vars: {{x: '{value}'}}}}}}\n")
    };
    let pipeline =
        |sources: &[String]| format!("var_sources:\n{}jobs: [{{name: j}}]\n", sources.concat());
    let config = load(&pipeline(&[
        source("a", "((b:x)) ((static))"),
        source("b", "((c:x))"),
        source("c", "1"),
    ]))
    .unwrap()
    .config;
    let ordered = airside_config::order_var_sources(&config.var_sources).unwrap();
    let names: Vec<&str> = ordered.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["c", "b", "a"]);
    check(
        &pipeline(&[
            source("a", "((b:x))"),
            source("b", "((a:x))"),
            source("c", "1"),
        ]),
        "2:10 failed to order by dependency: could not resolve inter-dependent var sources: a, b",
    );
    check(
        &pipeline(&[source("a", "((gone:x))")]),
        "2:10 failed to order by dependency: could not resolve inter-dependent var sources: a",
    );
}

#[test]
fn names_cannot_change_places() {
    check(
        "resources:\n- {name: x, type: mock, old_name: w}\n- {name: w, type: mock, old_name: x}\njobs:\n- {name: a, old_name: b, plan: [{get: x}, {get: w}]}\n- {name: b, old_name: c}\n- {name: c, old_name: a}\n- {name: d, old_name: d}\n- {name: e, old_name: a}\n",
        "3:35 resource name swapping is not supported at this time ('w')\n\
         5:23 job name swapping is not supported at this time ('a')",
    );
    load("jobs:\n- {name: a, old_name: b}\n- {name: b, old_name: c}\n").unwrap();
}

#[test]
fn what_would_grow_out_of_bounds_is_refused() {
    let nested = "{attempts: 1000, do: [{attempts: 1000, do: [{task: t, file: x/y}]}]}";
    let problems = load(&format!("jobs: [{{name: j, plan: [{nested}]}}]")).unwrap_err();
    assert!(
        problems[0]
            .message
            .starts_with("a build would have more than 100000 steps")
    );
    let mut across = "{task: t, file: x/y}".to_owned();
    for level in 0..6 {
        across = format!("{{across: [{{var: v{level}, values: [1]}}], do: [{across}]}}");
    }
    let problems = load(&format!("jobs: [{{name: j, plan: [{across}]}}]")).unwrap_err();
    assert_eq!(
        problems[0].message,
        "`across` is nested more than 5 levels deep"
    );
}

#[test]
fn what_is_nested_too_deep_is_refused() {
    let pipeline = |levels: usize| {
        let step = format!(
            "{}{{task: t, file: x/y}}{}",
            "{try: ".repeat(levels),
            "}".repeat(levels)
        );
        format!("jobs: [{{name: j, plan: [{step}]}}]")
    };
    let config = load(&pipeline(30)).unwrap().config;
    let plan = airside_config::plan(&config.jobs[0], &config, &Default::default()).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(
        serde_json::from_str::<airside_model::Plan>(&text).unwrap(),
        plan
    );
    for levels in [31, 90] {
        let problems = load(&pipeline(levels)).unwrap_err();
        assert_eq!(
            problems[0].to_string(),
            "jobs.j: its steps are nested too deep"
        );
    }
    let source = |levels: usize| {
        let value = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        format!(
            "resources: [{{name: r, type: t, source: {{a: {value}}}}}]\njobs: [{{name: j, plan: [{{get: r}}]}}]"
        )
    };
    load(&source(31)).unwrap();
    check(
        &source(32),
        "1:40 resources.r.source: is nested more than 32 levels deep",
    );
}

#[test]
fn the_deepest_plan_can_be_read_again() {
    let types: String = (0..8)
        .map(|i| format!("- {{name: t{i}, type: t{}}}\n", i + 1))
        .collect();
    let value = format!("{}1{}", "[".repeat(31), "]".repeat(31));
    let step = format!(
        "{}{{put: r, params: {{a: {value}}}}}{}",
        "{try: ".repeat(29),
        "}".repeat(29)
    );
    let text = format!(
        "resource_types:\n{types}resources: [{{name: r, type: t0, source: {{a: {value}}}}}]\njobs: [{{name: j, plan: [{step}]}}]"
    );
    let config = load(&text).unwrap().config;
    let plan = airside_config::plan(&config.jobs[0], &config, &Default::default()).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(
        serde_json::from_str::<airside_model::Plan>(&text).unwrap(),
        plan
    );
}

#[test]
fn variables_may_stay_where_texts_are() {
    load(&with_plan(
        "- put: r\n  params: {a: [x, \"((b.c))\"], \"((k))\": 1}\n  timeout: ((t))\n- task: t\n  file: ((f))\n  params: {P: ((q))}\n- load_var: v\n  file: ((f))\n  format: ((f))",
    ))
    .unwrap();
    check(
        &with_plan(
            "- put: r\n  no_get: ((n))\n- get: g\n  resource: r\n  version: ((v))\n- do: []\n  timeout: ((t))",
        ),
        "7:13 jobs.j.plan.do[1].put(r).no_get: must be true or false, but is the variable ((n)), which needs a value when the pipeline is set\n\
         10:14 jobs.j.plan.do[2].get(g).version: the variable ((v)) needs a value when the pipeline is set\n\
         12:14 jobs.j.plan.do[3].timeout: the variable ((t)) needs a value when the pipeline is set",
    );
}

#[test]
fn warnings_about_variables_images_and_names() {
    let text = with_plan(
        "- load_var: v\n  file: r/v\n- task: a-((.:v))\n  file: r/t\n  across: [{var: v, values: [1]}]\n- do:\n  - task: b-((.:w))\n    file: r/t\n  across: [{var: w, values: [1]}]\n- task: t\n  image: r\n  hermetic: true\n  config: {platform: windows, rootfs_uri: x}",
    );
    assert_eq!(
        warnings(&text),
        [
            "var_shadowed: jobs.j.plan.do[2].across[0]: shadows local var 'v'",
            "invalid_identifier: jobs.j.plan.do[3].across.do[0].task(b-((.:w))): 'b-((.:w))' is not a valid identifier: illegal character '('",
            "pipeline: jobs.j.plan.do[4].task(t): specifies image: on the step but also specifies an image under config: - the image: on the step takes precedence",
            "pipeline: jobs.j.plan.do[4].task(t): specifies `hermetic:`, which only works on workers that can keep a step off the network",
            "pipeline: jobs.j.plan.do[4].task(t): no workers satisfying: platform 'windows'; workers of Airside are 'linux', and a task for another platform can run on none of them",
        ]
    );
}

#[test]
fn a_word_that_is_no_version_counts_as_the_latest() {
    let text = "resources:\n- {name: r, type: mock, source: {}}\njobs:\n- name: j\n  plan:\n  - get: r\n    version: newest\n";
    assert_eq!(
        warnings(text),
        [
            "pipeline: jobs.j.plan.do[0].get(r).version: is not `latest`, `every` or a version such as {ref: abc}, and counts as `latest`"
        ]
    );
}

/// Concourse ignores unknown fields of these maps, so a pipeline with one must not be refused.
#[test]
fn unknown_fields_below_a_task_config_are_warnings() {
    let found = warnings(&with_plan(
        "- in_parallel: {steps: [], limits: 2}\n- task: t\n  container_limits: {cpus: 1}\n  config:\n    platform: linux\n    \
         image_resource: {source: {}, tag: x}\n    inputs: [{name: a, optionl: true}]\n    outputs: [{name: b, x: 1}]\n    \
         caches: [{path: c, x: 1}]\n    container_limits: {ram: 1}\n    run: {path: x, arg: []}",
    ));
    assert_eq!(
        found,
        [
            "unknown_field: jobs.j.plan.do[1].in_parallel: unknown field \"limits\" is ignored (did you mean 'limit'?)",
            "unknown_field: jobs.j.plan.do[2].task(t).container_limits: unknown field \"cpus\" is ignored (did you mean 'cpu'?)",
            "pipeline: jobs.j.plan.do[2].task(t).config.image_resource: has no `type`, so a build that needs the image will fail",
            "unknown_field: jobs.j.plan.do[2].task(t).config.image_resource: unknown field \"tag\" is ignored (did you mean 'tags'?)",
            "unknown_field: jobs.j.plan.do[2].task(t).config.inputs[0]: unknown field \"optionl\" is ignored (did you mean 'optional'?)",
            "unknown_field: jobs.j.plan.do[2].task(t).config.outputs[0]: unknown field \"x\" is ignored",
            "unknown_field: jobs.j.plan.do[2].task(t).config.caches[0]: unknown field \"x\" is ignored",
            "unknown_field: jobs.j.plan.do[2].task(t).config.container_limits: unknown field \"ram\" is ignored",
            "unknown_field: jobs.j.plan.do[2].task(t).config.run: unknown field \"arg\" is ignored (did you mean 'args'?)",
        ]
    );
    // The first level is strict there too.
    check(
        &with_plan("- task: t\n  config: {platform: linux, bogus: 1}"),
        "7:31 jobs.j.plan.do[1].task(t).config: unknown fields [\"bogus\"]",
    );
    let task = airside_config::load_task("{platform: linux, run: {path: x, bogus: 1}}").unwrap();
    assert_eq!(task.warnings.len(), 1, "{task:?}");
}

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
- {name: lock, type: pool}
- {name: base, type: docker-image, source: {repository: a}}
- {name: made, type: docker-image, source: {repository: a}}
- {name: own, type: mine}
- {name: number, type: semver, source: {driver: swift}}
- {name: code, type: git, source: {url: x}}
- {name: clock, type: time, source: {interval: soon}}
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
        format!("5 missing_type: resources.lock: {}", line("pool")),
        "7 missing_type: resources.made: Airside reads resource type `docker-image` as `registry-image`, which can be \
         checked and got. To put an image, build it with `concourse/oci-build-task` and put it to a `registry-image`, or \
         bring Docker's type with this line in `resource_types`: {name: docker-image, type: registry-image, source: \
         {repository: concourse/docker-image-resource}, privileged: true}"
            .to_owned(),
        "9 source: resources.number: source.driver is `swift`, but `semver` has only the drivers `git`, `s3` and `gcs`".to_owned(),
        "10 source: resources.code: source.uri is missing, which type `git` needs".to_owned(),
        "11 source: resources.clock: source.interval is `soon`, which is no duration such as 30m".to_owned(),
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
    assert_eq!(
        advice(&text(task)),
        [
            "7 missing_artifact: jobs.j.plan.do[2].load_var(v): no step of this job makes the artifact `ci` that `file` is in",
            "9 missing_artifact: jobs.j.plan.do[4].task(u): no step of this job makes the artifact `img` that `image` is in",
        ]
    );
    // The file may say that the task makes any of them.
    assert_eq!(advice(&text("file: r/t.yml")), Vec::<String>::new());
}

#[test]
fn old_ways_to_write_pipelines_get_a_hint() {
    check(
        "jobs: [{name: {{name}}}]",
        "1:16 a map cannot be the key of a map; if a variable is meant, write ((name)) instead of {{name}}",
    );
    check(
        &with_plan("- aggregate:\n  - get: x"),
        "6:5 jobs.j.plan.do[1]: no core step type declared (e.g. get, put, task, etc.); `aggregate` is gone from Concourse, use `in_parallel`",
    );
    check(
        &with_plan("- tsak: t"),
        "6:5 jobs.j.plan.do[1]: no core step type declared (e.g. get, put, task, etc.) (did you mean 'task'?)",
    );
    check(
        "Jobs: [{name: j}]",
        "1:1 key `Jobs` is ignored: the section is called `jobs`\n- jobs: pipeline must contain at least one job",
    );
    assert_eq!(
        warnings("Groups: []\njobs: [{name: j}]"),
        ["miscased_key: key `Groups` is ignored: the section is called `groups`"]
    );
}
