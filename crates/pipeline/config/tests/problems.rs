//! Pipelines that are wrong, and what we say about them, with the line and column.

use airside_config::{Problem, api_errors, load, load_task};

fn shown(problems: Vec<Problem>) -> String {
    let line = |problem: &Problem| match problem.span {
        Some(span) => format!("{}:{} {problem}", span.start.line, span.start.column),
        None => format!("- {problem}"),
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let problems = load(text).expect_err("the pipeline is wrong");
    assert_eq!(shown(problems), expected);
}

/// A job whose plan is `plan`, indented as one block, with the resource `r`.
fn with_plan(plan: &str) -> String {
    let head = "resources: [{name: r, type: mock}]\njobs:\n- name: j\n  plan:\n  - get: r\n";
    let plan: String = plan.lines().map(|line| format!("  {line}\n")).collect();
    format!("{head}{plan}")
}

#[test]
fn documents() {
    check("a: [", "1:4 unclosed bracket '['");
    check("- a", "1:1 must be a map, but is a list");
    check("", "- jobs: pipeline must contain at least one job");
    check(
        "jobs: 1",
        "1:7 jobs: must be a list, but is a number\n- jobs: pipeline must contain at least one job",
    );
    check(
        "jobs: [1]",
        "1:8 jobs[0]: must be a map, but is a number\n- jobs: pipeline must contain at least one job",
    );
}

#[test]
fn resources() {
    check(
        "resources:\n- name: a\n- {type: git}\n- name: a\n  type: git\njobs: [{name: j, plan: [{get: a}]}]\n",
        "2:3 resources.a has no type\n\
         3:3 resources[1] has no name\n\
         4:3 resources[0] and resources[2] have the same name ('a')",
    );
    check(
        "resources:\n- name: a\n  type: git\n  check_every: soon\n  public: maybe\n  sorce: {}\njobs: [{name: j}]\n",
        "2:9 resource 'a' is not used\n\
         4:16 resources.a.check_every: invalid duration 'soon'\n\
         5:11 resources.a.public: must be true or false, but is a string\n\
         6:3 resources.a: unknown fields [\"sorce\"] (did you mean 'source'?)",
    );
}

#[test]
fn jobs() {
    check(
        "jobs:\n- name: a\n- name: a\n- plan: []\n",
        "3:3 jobs[0] and jobs[1] have the same name ('a')\n4:3 jobs[2] has no name",
    );
    check(
        "jobs:\n- name: a\n  max_in_flight: -1\n  build_log_retention: {builds: 1, minimum_succeeded_builds: 2, days: -3}\n",
        "3:18 jobs.a.max_in_flight: must be between 0 and 4294967295\n\
         4:62 jobs.a has build_log_retention.minimum_succeeded_builds: 2 greater than build_log_retention.builds: 1\n\
         4:71 jobs.a has negative build_log_retention.days: -3",
    );
    check(
        "jobs:\n- name: a\n  build_logs_to_retain: 2\n  build_log_retention: {builds: 1}\n",
        "3:25 jobs.a can't use both build_log_retention and build_logs_to_retain",
    );
}

#[test]
fn steps() {
    check(
        &with_plan("- get: r\n- get: nope\n- put: s\n  resource: rr"),
        "6:10 jobs.j.plan.do[1].get(r): repeated name\n\
         7:10 jobs.j.plan.do[2].get(nope): unknown resource 'nope'\n\
         9:15 jobs.j.plan.do[3].put(s): unknown resource 'rr' (did you mean 'r'?)",
    );
    check(
        &with_plan("- gett: r\n- 3\n- {}\n- get: r2\n  resource: r\n  put: r\n  verson: every"),
        "6:5 jobs.j.plan.do[1]: no core step type declared (e.g. get, put, task, etc.) (did you mean 'get'?)\n\
         7:5 jobs.j.plan.do[2]: must be a map, but is a number\n\
         8:5 jobs.j.plan.do[3]: no core step type declared (e.g. get, put, task, etc.)\n\
         9:5 jobs.j.plan.do[4]: unknown fields [\"get\"]\n\
         12:5 jobs.j.plan.do[4]: unknown fields [\"verson\"]",
    );
    check(
        &with_plan(
            "- get: a\n  resource: r\n  version: ((which))\n- get: b\n  resource: r\n  version: {ref: 1.10}\n- put: r\n  inputs: some",
        ),
        "8:14 jobs.j.plan.do[1].get(a).version: the variable ((which)) needs a value when the pipeline is set\n\
         11:20 jobs.j.plan.do[2].get(b).version.ref: must be a string, but is a number; put it in quotes\n\
         13:13 jobs.j.plan.do[3].put(r).inputs: must be `all`, `detect` or a list of names",
    );
    check(
        &with_plan(
            "- in_parallel:\n    limit: two\n    steps:\n    - do:\n      - get: x\n- in_parallel: 3",
        ),
        "7:14 jobs.j.plan.do[1].in_parallel.limit: must be a whole number, but is a string\n\
         10:16 jobs.j.plan.do[1].in_parallel.steps[0].do[0].get(x): unknown resource 'x'\n\
         11:18 jobs.j.plan.do[2].in_parallel: must be a list of steps, or a map with `steps`, but is a number",
    );
}

#[test]
fn tasks() {
    check(
        &with_plan(
            "- task: t\n- task: u\n  config:\n    run: {path: x, arg: []}\n    inputs: [{name: a}, {path: b}]\n    outputs: [{}]\n    container_limits: {cpu: x, memory: 1TB}",
        ),
        "6:11 jobs.j.plan.do[1].task(t): must specify either `file:` or `config:`\n\
         9:7 jobs.j.plan.do[2].task(u).config: missing 'platform'\n\
         10:27 jobs.j.plan.do[2].task(u).config: input in position 1 is missing a name\n\
         11:17 jobs.j.plan.do[2].task(u).config: output in position 0 is missing a name\n\
         12:31 jobs.j.plan.do[2].task(u).config.container_limits.cpu: must be a whole number of CPU shares\n\
         12:42 jobs.j.plan.do[2].task(u).config.container_limits.memory: must be a size such as 512MB or 1GB",
    );
}

#[test]
fn passed() {
    let resources = "resources: [{name: r, type: mock}, {name: s, type: mock}]\n";
    check(
        &format!(
            "{resources}jobs:\n- name: build\n  plan: [{{get: r}}]\n- name: ship\n  plan:\n  - {{get: s, passed: [build, biuld, 'x*', '[']}}\n"
        ),
        "7:23 jobs.ship.plan.do[0].get(s).passed: job 'build' does not interact with resource 's'\n\
         7:30 jobs.ship.plan.do[0].get(s).passed: no matching job(s) for 'biuld' (did you mean 'build'?)\n\
         7:37 jobs.ship.plan.do[0].get(s).passed: no matching job(s) for 'x*'\n\
         7:43 jobs.ship.plan.do[0].get(s).passed: no matching job(s) for '['",
    );
    // In groups this would be the two jobs; here it is a name.
    check(
        "resources: [{name: r, type: mock}]\njobs:\n- name: a\n  plan: [{get: r}]\n- name: b\n  plan: [{get: r, passed: ['{a,c}']}]\n",
        "6:28 jobs.b.plan.do[0].get(r).passed: no matching job(s) for '{a,c}'",
    );
    check(
        "resources: [{name: r, type: mock}]\njobs:\n- name: a\n  plan: [{get: r, passed: [b]}]\n- name: b\n  plan: [{get: r, passed: ['a*']}]\n",
        "3:9 pipeline contains a cycle that starts at Job 'a'",
    );
}

#[test]
fn groups_and_display() {
    check(
        "groups:\n- name: g\n  jobs: [a, 'z*']\n  resources: [q]\n- {name: g}\njobs:\n- name: a\n- name: b\ndisplay: {background_image: 'ftp://x', colour: red}\n",
        "3:13 no jobs match 'z*' for group 'g'\n\
         4:15 group 'g' has unknown resource 'q'\n\
         5:3 group 'g' appears 2 times. Duplicate names are not allowed.\n\
         8:9 job 'b' belongs to no group\n\
         9:29 background_image scheme must be either http, https or relative\n\
         9:40 display: unknown fields [\"colour\"]",
    );
}

#[test]
fn the_api_shows_problems_by_section() {
    let problems =
        load("resources: [{name: a}]\njobs: [{name: j, plan: [{get: b}, {put: c}]}]").unwrap_err();
    assert_eq!(
        api_errors(&problems),
        [
            "invalid resources:\n\tresources.a has no type\n\tresource 'a' is not used\n",
            "invalid jobs:\n\tjobs.j.plan.do[0].get(b): unknown resource 'b'\n\tjobs.j.plan.do[1].put(c): unknown resource 'c'\n",
        ]
    );
    let problems = load("a: *b").unwrap_err();
    assert_eq!(
        api_errors(&problems),
        ["malformed config: line 1, column 4: unknown anchor 'b'"]
    );
}

#[test]
fn a_problem_is_shown_in_its_line() {
    let text = with_plan("- get: nope");
    let problems = load(&text).unwrap_err();
    insta::assert_snapshot!(problems[0].render(&text, "ci.yml"), @r"
    error: unknown resource 'nope'
     --> ci.yml:6:10 (jobs.j.plan.do[1].get(nope))
      |
    6 |   - get: nope
      |          ^^^^
    ");
    let problems = load("").unwrap_err();
    insta::assert_snapshot!(problems[0].render("", "ci.yml"), @r"
    error: jobs: pipeline must contain at least one job
      --> ci.yml
    ");
}

#[test]
fn a_long_line_is_cut_around_the_problem() {
    let text = format!(
        "jobs: [{{name: j, public: {}, odd: 1}}]",
        " ".repeat(100_000) + "true"
    );
    let problems = load(&text).unwrap_err();
    let shown = airside_config::render_all(&problems, &text, "p.json");
    assert!(
        shown.len() < 1000 && shown.contains("true, odd: 1}]"),
        "{shown}"
    );
}

#[test]
fn task_files() {
    let problems = load_task(
        "platfrom: linux\nimage_resource: {source: {}}\ncaches: [{path: a, ttl: 1ms}, {ttl: soon}]\n",
    )
    .unwrap_err();
    assert_eq!(
        shown(problems),
        "1:1 missing 'platform'\n\
         1:1 unknown fields [\"platfrom\"] (did you mean 'platform'?)\n\
         3:25 caches[0].ttl: must be at least 1s, but is '1ms'\n\
         3:37 caches[1].ttl: invalid duration 'soon'"
    );
    assert_eq!(load_task("platform: linux\n").unwrap().config.run.path, "");
    assert_eq!(
        shown(load_task("3").unwrap_err()),
        "1:1 must be a map, but is a number"
    );
}

/// Concourse reads steps and task files without turning numbers into text; resources and jobs it
/// reads otherwise.
#[test]
fn numbers_and_booleans_are_no_text_in_steps() {
    check(
        &with_plan(
            "- get: q\n  resource: r\n  tags: [1]\n- get: s\n  resource: r\n  version: 5\n- task: 5\n  timeout: 60\n  config:\n    \
             platform: linux\n    image_resource: {type: mock, version: {ref: 1}}\n    run: {path: x, args: [1, true, \"2\"]}",
        ),
        "8:12 jobs.j.plan.do[1].get(q).tags[0]: must be a string, but is a number; put it in quotes\n\
         11:14 jobs.j.plan.do[2].get(s).version: must be a string, but is a number; put it in quotes\n\
         12:11 jobs.j.plan.do[3].task(5).task: must be a string, but is a number; put it in quotes\n\
         13:14 jobs.j.plan.do[3].task(5).timeout: must be a string, but is a number; put it in quotes\n\
         13:14 jobs.j.plan.do[3].task(5).timeout: invalid duration '60'\n\
         16:51 jobs.j.plan.do[3].task(5).config.image_resource.version.ref: must be a string, but is a number; put it in quotes\n\
         17:29 jobs.j.plan.do[3].task(5).config.run.args[0]: must be a string, but is a number; put it in quotes\n\
         17:32 jobs.j.plan.do[3].task(5).config.run.args[1]: must be a string, but is a boolean; put it in quotes",
    );
    let text = "resources: [{name: 1, type: mock, tags: [2], version: {v: 3}}]\n\
                jobs: [{name: 5, serial_groups: [1], plan: [{get: '1'}]}]";
    assert_eq!(load(text).unwrap().config.jobs[0].name, "5");
}
