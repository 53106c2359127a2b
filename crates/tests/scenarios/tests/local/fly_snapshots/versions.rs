//! Versions and builds: listed, disabled, pinned, run again, taken away.

use airside_scenarios::{Database, Transcript};

/// Nothing is checked by itself, so that no version and no build comes from there.
const PIPELINE: &str = "
resources:
- {name: r, type: mock, check_every: never, source: {no_initial_version: true}}
jobs:
- {name: one, plan: [{put: r, no_get: true, params: {version: v1}}]}
- {name: two, plan: [{put: r, no_get: true, params: {version: v2}}]}
- {name: use, plan: [{get: r}, &show {task: show, config: {platform: linux, image_resource: {type: host},
    inputs: [{name: r}], run: {path: sh, args: [-c, 'echo using $(cat r/version)']}}}]}
- {name: once, disable_reruns: true, plan: [{get: r}, *show]}
";

fn with_versions(server: &airside_scenarios::Server) -> Transcript {
    let session = Transcript::logged_in(server);
    session.file("pipeline.yml", PIPELINE);
    for line in [
        "fly -t main set-pipeline -n -p p -c pipeline.yml",
        "fly -t main unpause-pipeline -p p",
        "fly -t main trigger-job -j p/one -w",
        "fly -t main trigger-job -j p/two -w",
    ] {
        session.quietly(line).succeeded();
    }
    session
}

pub(crate) fn choosing_versions(database: Database) {
    let server = super::server(database);
    let mut session = with_versions(&server);
    for line in [
        "fly -t main resource-versions -r p/r",
        "fly -t main --print-table-headers resource-versions -r p/r",
        "fly -t main resource-versions -r p/r --json",
        "fly -t main resource-versions -r p/none",
        "fly -t main disable-resource-version -r p/r -v version:v2",
        "fly -t main resource-versions -r p/r",
        "fly -t main trigger-job -j p/use -w | grep ^using | tr -d '\\r'",
        "fly -t main enable-resource-version -r p/r -v version:v2",
        "fly -t main enable-resource-version -r p/r -v version:v9",
        "fly -t main pin-resource -r p/r -v version:v1 -c 'the other is broken'",
        "fly -t main pin-resource -r p/r -v version:v9",
        "fly -t main trigger-job -j p/use -w | grep ^using | tr -d '\\r'",
        "fly -t main unpin-resource -r p/r",
        "fly -t main unpin-resource -r p/r",
        "fly -t main trigger-job -j p/use -w | grep ^using | tr -d '\\r'",
        "printf 'y\\r' | fly -t main clear-resource-cache -r p/r -v version:v9",
        "printf 'y\\r' | fly -t main clear-resource-cache -r p/r",
        "printf 'y\\r' | fly -t main clear-resource-cache -r p/none",
        "fly -t main clear-versions --resource p/r -n",
        "fly -t main resource-versions -r p/r",
    ] {
        session.run(line);
    }
    session.compare("choosing_versions");
}

pub(crate) fn running_builds_again(database: Database) {
    let server = super::server(database);
    let mut session = with_versions(&server);
    for line in [
        "fly -t main trigger-job -j p/use -w | grep ^using | tr -d '\\r'",
        "fly -t main trigger-job -j p/one -w | tail -1",
        "fly -t main rerun-build -j p/use -b 1 -w | grep ^using | tr -d '\\r'",
        "fly -t main rerun-build -j p/use -b 1.1 -w | grep ^using | tr -d '\\r'",
        "fly -t main rerun-build -j p/use -b 7",
        "fly -t main trigger-job -j p/once -w | grep ^using | tr -d '\\r'",
        "fly -t main rerun-build -j p/once -b 1",
        "fly -t main schedule-job -j p/use",
        "fly -t main schedule-job -j p/none",
        "fly -t main jobs -p p",
        "fly -t main builds -j p/use --json | grep '\"name\"'",
        "fly -t main watch -j p/use | grep ^using | tr -d '\\r'",
    ] {
        session.run(line);
    }
    session.compare("running_builds_again");
}
