//! Teams: made, changed, shown, renamed, destroyed; and what a member of one sees of another.

use airside_scenarios::{Database, Transcript};

const ROLES: &str = "
roles:
- name: owner
  local: {users: [test]}
- name: member
  local: {users: [bob]}
  github: {users: [octocat], orgs: [example], teams: ['example:crew']}
- name: pipeline-operator
  oidc: {groups: [operators]}
- name: viewer
  ldap: {groups: [everybody]}
";

pub(crate) fn managing_teams(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    session.file("roles.yml", ROLES);
    session.file(
        "wrong.yml",
        "roles:\n- name: emperor\n  local: {users: [test]}\n",
    );
    session.file(
        "nobody.yml",
        "roles:\n- name: member\n  local: {users: [bob]}\n- name: viewer\n",
    );
    for line in [
        "fly -t main teams",
        "fly -t main teams -d",
        "fly -t main set-team -n crew --local-user bob --non-interactive",
        "fly -t main set-team -n crew --local-user bob --local-user test --non-interactive",
        "fly -t main get-team -n crew",
        "fly -t main --print-table-headers get-team -n crew",
        "fly -t main set-team -n crew -c roles.yml --non-interactive",
        "fly -t main get-team -n crew",
        "fly -t main get-team -n crew --json",
        "printf 'n\\r' | fly -t main set-team -n crew --local-user bob",
        "printf 'y\\r' | fly -t main set-team -n second --github-org example --oidc-group all",
        "fly -t main set-team -n wrong -c wrong.yml --non-interactive",
        "fly -t main set-team -n wrong -c nobody.yml --non-interactive",
        "fly -t main set-team -n wrong --non-interactive",
        "fly -t main set-team -n a/b --local-user bob --non-interactive",
        "fly -t main set-team -n '_Odd Team' --local-user bob --non-interactive",
        "fly -t main teams",
        "fly -t main teams -d",
        "fly -t main teams --json",
        "fly -t main get-team -n nowhere",
        "fly -t main rename-team -o second -n third",
        "fly -t main rename-team -o nowhere -n third",
        "fly -t main rename-team -o third -n crew",
        "fly -t main rename-team -o third -n '_Odd'",
        "fly -t main rename-team -o main -n other",
        "fly -t main destroy-team -n _Odd --non-interactive",
        "printf 'wrong\\r' | fly -t main destroy-team -n crew",
        "printf 'crew\\r' | fly -t main destroy-team -n crew",
        "fly -t main destroy-team -n crew --non-interactive",
        "fly -t main destroy-team -n main --non-interactive",
        "fly -t main teams",
    ] {
        session.run(line);
    }
    session.on_terminal("fly -t main teams -d");
    session.compare("managing_teams");
}

pub(crate) fn a_member_of_one_team(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    session.file("p.yml", "jobs:\n- {name: j, plan: []}\n");
    session.file(
        "crew.yml",
        "roles:\n- {name: owner, local: {users: [test]}}\n- {name: viewer, local: {users: [bob]}}\n",
    );
    for line in [
        "fly -t main set-pipeline -n -p hidden -c p.yml",
        "fly -t main set-pipeline -n -p open -c p.yml",
        "fly -t main expose-pipeline -p open",
        "fly -t main set-team -n crew -c crew.yml --non-interactive",
        "fly -t main set-pipeline -n -p theirs -c p.yml --team crew",
        "fly -t crew login -c $URL -n crew -u bob -p bob",
    ] {
        session.quietly(line).succeeded();
    }
    for line in [
        "fly -t crew userinfo",
        "fly -t crew teams",
        "fly -t crew teams -d",
        "fly -t crew get-team -n main",
        "fly -t crew get-team -n crew",
        "fly -t crew pipelines -a",
        "fly -t crew get-pipeline -p theirs",
        "fly -t crew set-pipeline -n -p theirs -c p.yml",
        "fly -t crew set-pipeline -n -p new -c p.yml > /dev/null",
        "fly -t crew pause-pipeline -p theirs",
        "fly -t crew destroy-pipeline -n -p theirs",
        "fly -t crew set-team -n crew --local-user bob --non-interactive",
        "fly -t crew set-team -n new --local-user bob --non-interactive",
        "fly -t crew rename-team -o crew -n gang",
        "fly -t crew destroy-team -n crew --non-interactive",
        "fly -t crew get-pipeline -p hidden --team main",
        "fly -t crew set-wall -m hello",
        "fly -t crew active-users",
        "fly -t wrong login -c $URL -n main -u bob -p bob",
    ] {
        session.run(line);
    }
    session.compare("a_member_of_one_team");
}
