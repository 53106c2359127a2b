//! Pipelines that are there: listed, paused, exposed, ordered, renamed, archived, destroyed.

use airside_scenarios::{Database, Transcript};

const PIPELINE: &str = "
resources:
- {name: r, type: mock, check_every: never, source: {}}
jobs:
- {name: hello, plan: [{get: r}]}
- {name: world, plan: [{get: r}]}
- {name: alone, plan: [{get: r}]}
";

const GROUPS: &str = "
groups:
- {name: greetings, jobs: [hello, world]}
- {name: others, jobs: [alone]}
display: {background_image: 'https://example.com/picture.png'}
";

fn logged_in(server: &airside_scenarios::Server) -> Transcript {
    let session = Transcript::logged_in(server);
    session.file("plain.yml", PIPELINE);
    session.file("grouped.yml", &format!("{PIPELINE}{GROUPS}"));
    session
}

pub(crate) fn listing_pipelines(database: Database) {
    let server = super::server(database);
    let mut session = logged_in(&server);
    session.run("fly -t main pipelines");
    session.run("fly -t main pipelines --json");
    for line in [
        "fly -t main set-pipeline -n -p one -c plain.yml",
        "fly -t main set-pipeline -n -p two -c grouped.yml",
        "fly -t main unpause-pipeline -p two",
        "fly -t main expose-pipeline -p two",
        "fly -t main set-team -n crew --local-user bob --non-interactive",
        "fly -t main set-pipeline -n -p theirs -c plain.yml --team crew",
        "fly -t main set-pipeline -n -p old -c plain.yml",
        "fly -t main archive-pipeline -n -p old",
        "fly -t crew login -c $URL -n crew -u bob -p bob",
    ] {
        session.quietly(line).succeeded();
    }
    for line in [
        "fly -t main pipelines",
        "fly -t main --print-table-headers pipelines",
        "fly -t main pipelines --json",
        "fly -t main pipelines -a",
        "fly -t main pipelines --include-archived",
        "fly -t main pipelines -a --include-archived --json",
        "fly -t main pipelines --team crew",
        "fly -t main pipelines --team nowhere",
        "fly -t main paused-pipelines",
        "fly -t main --print-table-headers paused-pipelines -a",
        "fly -t main paused-pipelines --json",
        "fly -t crew pipelines",
        "fly -t crew pipelines -a",
        "fly -t main get-pipeline -p one",
        "fly -t main get-pipeline -p two --json",
        "fly -t main get-pipeline -p old",
        "fly -t main get-pipeline -p none",
        "fly -t crew get-pipeline -p one --team main",
        "fly -t main checklist -p one",
        "fly -t main checklist -p two",
        "fly -t main checklist -p none",
    ] {
        session.run(line);
    }
    session.on_terminal("fly -t main pipelines -a --include-archived");
    session.on_terminal("fly -t main paused-pipelines");
    session.compare("listing_pipelines");
}

pub(crate) fn managing_pipelines(database: Database) {
    let server = super::server(database);
    let mut session = logged_in(&server);
    for name in ["one", "two", "three"] {
        let line = format!("fly -t main set-pipeline -n -p {name} -c plain.yml");
        session.quietly(&line).succeeded();
    }
    for (about, lines) in COMMANDS {
        session.about(about);
        for line in *lines {
            session.run(line);
        }
    }
    session.compare("managing_pipelines");
}

/// Objects that are looked into, and the commands for them.
const COMMANDS: &[(&str, &[&str])] = &[
    (
        "pausing",
        &[
            "fly -t main unpause-pipeline -p one",
            "fly -t main unpause-pipeline -p one",
            "fly -t main pause-pipeline -p one",
            "fly -t main unpause-pipeline -p none",
            "fly -t main pause-pipeline -p none",
            "fly -t main unpause-pipeline --all",
            "fly -t main pause-pipeline --all",
            "fly -t main pause-pipeline",
        ],
    ),
    (
        "who may see them",
        &[
            "fly -t main expose-pipeline -p one",
            "fly -t main hide-pipeline -p one",
            "fly -t main expose-pipeline -p none",
            "fly -t main hide-pipeline -p none",
        ],
    ),
    (
        "their jobs and resources",
        &[
            "fly -t main --print-table-headers jobs -p one",
            "fly -t main pause-job -j one/hello",
            "fly -t main jobs -p one",
            "fly -t main unpause-job -j one/hello",
            "fly -t main pause-job -j one/none",
            "fly -t main jobs -p none",
            "fly -t main --print-table-headers resources -p one",
            "fly -t main resources -p none",
        ],
    ),
    (
        "their order",
        &[
            "fly -t main order-pipelines -p three -p one -p two",
            "fly -t main pipelines",
            "fly -t main order-pipelines -a",
            "fly -t main pipelines",
            "fly -t main order-pipelines -p none -p one",
            "fly -t main order-pipelines",
        ],
    ),
    (
        "their names",
        &[
            "fly -t main rename-pipeline -o one -n first",
            "fly -t main rename-pipeline -o none -n some",
            "fly -t main rename-pipeline -o first -n two",
            "fly -t main rename-pipeline -o first -n '_odd name'",
            "fly -t main rename-pipeline -o '_odd name' -n a/b",
            "fly -t main rename-pipeline -o '_odd name' -n first",
        ],
    ),
    (
        "archiving",
        &[
            "fly -t main archive-pipeline -n -p two",
            "fly -t main archive-pipeline -n -p none",
            "fly -t main pause-pipeline -p two",
            "fly -t main unpause-pipeline -p two",
            "fly -t main expose-pipeline -p two",
            "fly -t main hide-pipeline -p two",
            "fly -t main trigger-job -j two/hello",
            "fly -t main jobs -p two",
            "fly -t main set-pipeline -n -p two -c plain.yml | tail -n 8",
            "fly -t main pipelines",
            "fly -t main archive-pipeline -p",
            "printf 'n\\r' | fly -t main archive-pipeline -p two",
            "fly -t main archive-pipeline -n --all",
            "fly -t main archive-pipeline -n --all",
        ],
    ),
    (
        "destroying",
        &[
            "fly -t main destroy-pipeline -n -p two",
            "fly -t main destroy-pipeline -n -p two",
            "printf 'n\\r' | fly -t main destroy-pipeline -p three",
            "printf 'y\\r' | fly -t main destroy-pipeline -p three",
            "fly -t main pipelines --include-archived",
        ],
    ),
];
