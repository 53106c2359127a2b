//! Checks that people ask for.

use airside_scenarios::{Database, Transcript};

const PIPELINE: &str = "
resource_types:
- {name: t, type: mock, check_every: never, source: {initial_version: t1}}
resources:
- {name: r, type: mock, check_every: never, source: {initial_version: v1}}
- {name: broken, type: mock, check_every: never, source: {check_failure: no such thing}}
jobs:
- {name: j, plan: [{get: r}, {get: broken}]}
";

pub(crate) fn asking_for_checks(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    session.file("pipeline.yml", PIPELINE);
    let masked = "sed -E 's/in build [0-9]+/in build <n>/'";
    for line in [
        "fly -t main set-pipeline -n -p p -c pipeline.yml > /dev/null",
        &format!("fly -t main check-resource -r p/r | {masked}"),
        "fly -t main unpause-pipeline -p p",
        &format!("fly -t main check-resource -r p/r | {masked}"),
        &format!("fly -t main check-resource -r p/r -f version:v3 | {masked}"),
        "fly -t main resource-versions -r p/r",
        &format!("fly -t main check-resource -r p/r --shallow | {masked}"),
        &format!("fly -t main check-resource -r p/broken | {masked}"),
        "fly -t main check-resource -r p/broken > /dev/null",
        "fly -t main check-resource -r p/none",
        "fly -t main check-resource -r none/r",
        &format!("fly -t main check-resource-type -r p/t | {masked}"),
        "fly -t main check-resource-type -r p/none",
        "fly -t main resources -p p",
        "fly -t main clear-versions --resource-type p/t -n",
        &format!("fly -t main check-resource -r p/r -a | {masked}"),
    ] {
        session.run(line);
    }
    session.compare("asking_for_checks");
}
