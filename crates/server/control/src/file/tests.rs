use super::*;

fn read(text: &str) -> Result<Vec<ControlCluster>, String> {
    parse(Path::new("control.yml"), text).map_err(|error| error.to_string())
}

#[test]
fn a_team_needs_only_its_namespace() {
    let clusters = read("clusters:\n- name: a\n  teams:\n  - {team: main, namespace: ci-main}\n");
    let [cluster] = &clusters.unwrap()[..] else {
        panic!("one cluster");
    };
    assert_eq!(cluster.access, ClusterAccess::default());
    assert_eq!(cluster.rate, Rate { qps: 20, burst: 40 });
    let expected = ControlTeam {
        team: "main".to_owned(),
        namespace: "ci-main".to_owned(),
        fly: FlyMode::Judge,
        mirrors_jobs: true,
        mirrors_builds: true,
        builds_kept: 5,
        objects_max: 2000,
        clear_secrets: false,
    };
    assert_eq!(cluster.teams, [expected]);
}

#[test]
fn every_field_is_read() {
    let text = "\
clusters:
- name: a
  service_account: /account
  api_server: https://10.0.0.1:6443
  qps: 5
  teams:
  - team: main
    namespace: ci-main
    fly: proxy
    mirror: [builds]
    builds_kept: 0
    objects_max: 7
    clear_secrets: true
  - {team: other, namespace: ci-other, mirror: []}
";
    let cluster = read(text).unwrap().remove(0);
    assert_eq!(cluster.rate, Rate { qps: 5, burst: 10 });
    let [main, other] = &cluster.teams[..] else {
        panic!("two teams");
    };
    assert_eq!(main.fly, FlyMode::Proxy);
    assert!(!main.mirrors_jobs && main.mirrors_builds && main.clear_secrets);
    assert_eq!((main.builds_kept, main.objects_max), (0, 7));
    assert!(!other.mirrors_jobs && !other.mirrors_builds);
}

#[test]
fn mistakes_have_their_line() {
    let team = "  teams: [{team: main, namespace: ci}]\n";
    for (text, expected) in [
        ("", "unexpected end of input"),
        (
            "clusters: [{name: A, teams: []}]",
            "control.yml:1:19: name: \"A\" is not a valid name",
        ),
        ("clusters: [{name: a, team: []}]", "unknown field"),
        (
            &format!("clusters:\n- name: a\n{team}- name: a\n{team}"),
            "control.yml:4:9: name: there is a cluster \"a\" already, at line 2",
        ),
        (
            &format!("clusters:\n- name: a\n{team}- name: b\n{team}"),
            "control.yml:5:18: team: team \"main\" has a namespace already, at line 3",
        ),
        (
            "clusters:\n- name: a\n  teams: [{team: a, namespace: ci}, {team: b, namespace: ci}]",
            "control.yml:3:58: namespace: \"ci\" belongs to a team already, at line 3",
        ),
        (
            "clusters:\n- name: a\n  teams: [{team: a, namespace: a/b}]",
            "control.yml:3:32: namespace: \"a/b\" cannot be",
        ),
        (
            "clusters:\n- name: a\n  teams: [{team: ' ', namespace: a}]",
            "control.yml:3:18: team: must not be empty",
        ),
        (
            "clusters:\n- name: a\n  qps: 0\n  teams: []",
            "control.yml:3:8: qps: must be from 1 to 10000",
        ),
        (
            "clusters:\n- name: a\n  teams: [{team: a, namespace: a, fly: maybe}]",
            "unknown variant",
        ),
        (
            "clusters:\n- name: a\n  kubeconfig: x\n  api_server: https://h\n  teams: []",
            "control.yml:2:9: api_server: the kubeconfig says",
        ),
    ] {
        let error = read(text).expect_err(expected);
        assert!(error.contains(expected), "{error}\nnot: {expected}");
    }
}

#[test]
fn a_file_that_is_not_there_or_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("control.yml");
    let missing = load(&file).expect_err("there is no file");
    assert!(
        missing
            .to_string()
            .ends_with("cannot read the control file")
    );
    std::fs::write(&file, vec![b'#'; (1 << 20) + 1]).unwrap();
    let large = load(&file).expect_err("the file is too large");
    assert!(matches!(large, ControlFileError::TooLarge { .. }));
}
