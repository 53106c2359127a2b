//! Setting a pipeline: what is new, what has changed, what is refused, and what fly puts in by
//! itself.

use airside_scenarios::{Database, Transcript};

const FIRST: &str = "
resources:
- {name: code, type: mock, source: {version: one}}
- {name: gone-soon, type: mock, source: {}}
jobs:
- name: build
  plan:
  - get: code
    trigger: true
- name: gone-soon-too
  plan: [{get: gone-soon}]
";

const SECOND: &str = "
resources:
- {name: code, type: mock, source: {version: two, extra: [1, 2.5, true, null, text]}, check_every: 1m}
- {name: new, type: mock, icon: git}
resource_types:
- {name: custom, type: registry-image, source: {repository: example.com/custom}, privileged: true}
jobs:
- name: build
  serial: true
  plan:
  - get: code
    passed: [before]
- name: before
  old_name: first-of-all
  plan:
  - in_parallel: [{get: code}, {get: new}]
groups:
- {name: all, jobs: ['*']}
display: {background_image: 'https://example.com/picture.png'}
";

pub(crate) fn setting_a_pipeline(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    session.file("first.yml", FIRST);
    session.file("second.yml", SECOND);
    session.file("odd.yml", "jobs:\n- {name: Odd Job, plan: []}\n");
    for line in [
        "fly -t main set-pipeline -n -p p -c first.yml",
        "fly -t main set-pipeline -n -p p -c first.yml",
        "fly -t main set-pipeline -n -p p -c second.yml --dry-run",
        "fly -t main set-pipeline -n -p p -c second.yml",
        "fly -t main set-pipeline -n -p p -c second.yml",
        "fly -t main unpause-pipeline -p p",
        "printf 'n\\r' | fly -t main set-pipeline -p p -c first.yml --no-color",
        "printf 'y\\r' | fly -t main set-pipeline -p p -c first.yml --no-color",
        "cat second.yml | fly -t main set-pipeline -p p -c - --no-color",
        "fly -t main set-pipeline -n -p '_Odd Name' -c odd.yml",
        "fly -t main set-pipeline -n -p a/b -c first.yml",
        "fly -t main set-pipeline -n -p p -c first.yml --team nowhere",
        "fly -t main set-pipeline -n -p p -c missing.yml",
    ] {
        session.run(line);
    }
    session.on_terminal("fly -t main set-pipeline -n -p p -c first.yml");
    session.compare("setting_a_pipeline");
}

const TEMPLATE: &str = "
resources:
- name: r
  type: mock
  source:
    text: ((text))
    inside: before-((text))-after
    number: ((number))
    list: ((list))
    nested: ((a.b))
    kept: ((left.alone))
    quoted: ((\"with.dot\"))
jobs:
- {name: job, plan: [{get: r}]}
";

pub(crate) fn variables(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    session.file("template.yml", TEMPLATE);
    session.file(
        "vars.yml",
        "text: from a file\nnumber: 7\na: {b: {c: deep}}\n",
    );
    session.file("more.yml", "number: 8\nwith.dot: yes\n");
    session.file("bad.yml", "text: [\n");
    session.file(
        "secret.yml",
        "
resources:
- {name: r, type: mock, source: {password: ((secret)), user: ((vault:path.user))}, webhook_token: ((hook))}
resource_types:
- {name: t, type: registry-image, source: {password: ((registry.password))}}
jobs:
- name: job
  plan:
  - get: r
  - task: t
    params: {TOKEN: ((token)), PLAIN: text}
    vars: {v: ((inner))}
    config:
      platform: linux
      image_resource: {type: mock, source: {key: ((key))}}
      run: {path: echo, args: [((arg))]}
",
    );
    for line in [
        "fly -t main set-pipeline -n -p p -c template.yml -l vars.yml -l more.yml -v text=given -y list='[1, {two: 2}]'",
        "fly -t main get-pipeline -p p",
        "fly -t main set-pipeline -n -p p -c template.yml -v number=9 -y a.b=1 --no-color",
        "fly -t main set-pipeline -n -p p -c template.yml -v nonsense",
        "fly -t main set-pipeline -n -p p -c template.yml -y 'list=['",
        "fly -t main set-pipeline -n -p p -c template.yml -l bad.yml",
        "fly -t main set-pipeline -n -p p -c template.yml -l missing.yml",
        "fly -t main set-pipeline -n -p secret -c secret.yml --check-creds > /dev/null",
        "fly -t main get-pipeline -p secret",
        "fly -t main set-pipeline -n -p secret -c secret.yml > /dev/null",
        "fly -t main set-pipeline -n -p known -c template.yml -v text=t -v number=1 -y list=[] -y a.b=1 -v left.alone=x \
         -v '\"with.dot\"=1' --check-creds | tail -n 8",
    ] {
        session.run(line);
    }
    session.compare("variables");
}

/// Refusals of the server, in its words; refusals of fly itself never reach it.
pub(crate) fn refused_pipelines(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    for (name, text) in REFUSED {
        session.file("wrong.yml", text).file("name", name);
        session.about(name);
        session.run("fly -t main set-pipeline -n -p p -c wrong.yml > /dev/null");
        session.run("fly validate-pipeline -c wrong.yml");
    }
    session.compare("refused_pipelines");
}

const REFUSED: &[(&str, &str)] = &[
    ("not YAML", "jobs: [\n"),
    ("not a pipeline", "- 1\n"),
    ("empty", ""),
    (
        "a step of no kind",
        "jobs:\n- {name: j, plan: [{tusk: t}]}\n",
    ),
    (
        "two kinds at once",
        "jobs:\n- {name: j, plan: [{get: a, put: b}]}\n",
    ),
    (
        "unknown key",
        "jobs:\n- {name: j, plan: [], serail: true}\n",
    ),
    ("duplicate key", "jobs:\n- {name: j, name: k, plan: []}\n"),
    // Of jobs in no group only one: fly names several in any order.
    (
        "many mistakes",
        "
resources:
- {name: r, type: nothing}
- {name: r, type: mock}
- {type: mock}
jobs:
- {name: j, plan: [{get: none}, {get: r, passed: [nowhere]}, {task: t}]}
- {name: j, plan: [{put: none}]}
- {name: k, plan: []}
groups:
- {name: g, jobs: [missing, k]}
- {name: g, resources: [missing]}
",
    ),
];

/// Commands that need no server; their output is fly's own, and what ours is measured by.
pub(crate) fn without_a_server(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::begin(&server);
    session.file("first.yml", FIRST).file("second.yml", SECOND);
    session.file("template.yml", TEMPLATE);
    session.file("odd.yml", "jobs:\n- {name: Odd Job, plan: []}\n");
    for line in [
        "fly validate-pipeline -c first.yml",
        "fly validate-pipeline -c second.yml --strict",
        "fly validate-pipeline -c odd.yml",
        "fly validate-pipeline -c odd.yml --strict",
        "fly validate-pipeline -c template.yml -o -v text=x -y number=1",
        "fly format-pipeline -c first.yml",
        "fly format-pipeline -c second.yml",
        "fly format-pipeline -w -c first.yml && cat first.yml",
        "fly format-pipeline -c missing.yml",
    ] {
        session.run(line);
    }
    session.compare("without_a_server");
}
