//! Pipelines of one name that are told apart by their variables.

use airside_scenarios::{Database, Transcript};

const PIPELINE: &str = "
jobs:
- name: job
  plan:
  - task: t
    config:
      platform: linux
      image_resource: {type: mock, source: {mirror_self: true}}
      params: {BRANCH: ((branch)), NUMBER: ((n.m))}
      run: {path: env}
";

pub(crate) fn instanced_pipelines(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    session.file("p.yml", PIPELINE);
    for line in [
        "fly -t main set-pipeline -n -p i -c p.yml -i branch=main -i n.m=1",
        "fly -t main set-pipeline -n -p i -c p.yml -i branch=main -i n.m=1",
        "fly -t main set-pipeline -n -p i -c p.yml -i branch=feature/odd -i n.m=2 | tail -n 8",
        "fly -t main set-pipeline -n -p i -c p.yml -i branch='\"true\"' -i n.m=[1,x] | tail -n 8",
        "fly -t main set-pipeline -n -p i -c p.yml -v branch=plain -v n.m=0 | tail -n 8",
        "fly -t main set-pipeline -n -p i -c p.yml -i '\"a.b\"=1' -v branch=b -v n.m=0 | tail -n 8",
        "fly -t main pipelines",
        "fly -t main pipelines --json",
        "fly -t main get-pipeline -p i/branch:main,n.m:1",
        "fly -t main get-pipeline -p i",
        "fly -t main get-pipeline -p i/branch:none",
        "fly -t main unpause-pipeline -p i/branch:main,n.m:1",
        "fly -t main expose-pipeline -p i/branch:main,n.m:1",
        "fly -t main checklist -p i/branch:main,n.m:1",
        "fly -t main order-instanced-pipelines -g i -p branch:feature/odd,n.m:2 -p branch:main,n.m:1",
        "fly -t main pipelines",
        "fly -t main order-instanced-pipelines -g i -p branch:none",
        "fly -t main order-instanced-pipelines -g none -p branch:main",
        "fly -t main rename-pipeline -o i -n j",
        "fly -t main archive-pipeline -n -p j/branch:feature/odd,n.m:2",
        "fly -t main destroy-pipeline -n -p j/branch:main,n.m:1",
        "fly -t main destroy-pipeline -n -p j/branch:main,n.m:1",
        "fly -t main pipelines --include-archived",
    ] {
        session.run(line);
    }
    session.compare("instanced_pipelines");
}
