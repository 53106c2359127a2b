use super::*;
use clap::Parser as _;

/// Options as they are typed.
#[derive(clap::Parser)]
#[command(no_binary_name = true)]
struct Typed {
    #[command(flatten)]
    variables: Variables,
}

fn values(args: &[&str]) -> Values {
    Typed::try_parse_from(args)
        .unwrap()
        .variables
        .read()
        .unwrap()
}

fn check_with(name: &str, content: &[u8], task: bool, args: &[&str]) -> Check {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, content).unwrap();
    let mut check = Check::read(&file, task, &values(args));
    check.file = name.to_owned();
    check
}

fn check(name: &str, content: &[u8], task: bool) -> Check {
    check_with(name, content, task, &[])
}

#[test]
fn problems_are_shown_in_their_lines_and_counted() {
    let wrong = check("ci.yml", b"jobs:\n- nam: j\n", false);
    assert!(!wrong.is_valid());
    assert_eq!(
        wrong.text(),
        "error: unknown fields [\"nam\"] (did you mean 'name'?)\n --> ci.yml:2:3 (jobs[0])\n  |\n2 | - nam: j\n  |   ^^^\n\n\
         error: jobs[0] has no name\n --> ci.yml:2:3\n  |\n2 | - nam: j\n  |   ^^^^^^\n\n\
         ci.yml: 2 problems\n"
    );
    let shown = wrong.json();
    assert_eq!(shown["problems"][0]["path"], "jobs[0]");
    assert_eq!(shown["problems"][0]["line"], 2);
    assert_eq!(shown["problems"][0]["end_column"], 6);
}

#[test]
fn warnings_are_shown_beside_problems() {
    let text = "resources:\n- {name: r, type: git, source: {url: x}}\n- {name: p, type: cf, source: {}}\n\
                jobs:\n- name: j\n  plan:\n  - get: gone\n  - get: r\n  - put: p\n    params: {ver: 1.10}\n";
    let wrong = check("ci.yml", text.as_bytes(), false);
    let shown = wrong.text();
    let place = |words: &str| {
        shown
            .find(words)
            .unwrap_or_else(|| panic!("{words}: {shown}"))
    };
    let problem = place("error: ");
    for warned in ["`cf` is not part of Airside", "1.10", "url"] {
        assert!(place(warned) < problem, "{shown}");
    }
    assert!(
        shown.ends_with("ci.yml: 1 problem, 4 warnings\n"),
        "{shown}"
    );
    let json = wrong.json();
    assert_eq!(json["problems"].as_array().unwrap().len(), 1);
    assert_eq!(json["warnings"].as_array().unwrap().len(), 4, "{json:#}");

    let text = b"platform: linux\ninputs: 3\nimage_resource: {type: git, source: {url: x}}\n";
    let wrong = check("t.yml", text, true);
    assert!(!wrong.is_valid());
    assert!(wrong.text().contains("url"), "{}", wrong.text());
}

#[test]
fn warnings_do_not_fail() {
    let odd = check("ci.yml", b"jobs: [{name: J}]", false);
    assert!(odd.is_valid() && !odd.is_spotless());
    assert_eq!(
        odd.text(),
        "warning: jobs.J: 'J' is not a valid identifier: must start with a lowercase letter or a number\n \
         --> ci.yml:1:15\n  |\n1 | jobs: [{name: J}]\n  |               ^\n\nci.yml: looks good\n"
    );
    let warning = &odd.json()["warnings"][0];
    assert_eq!(warning["type"], "invalid_identifier");
    assert_eq!(
        (&warning["line"], &warning["column"]),
        (&json!(1), &json!(15))
    );
    assert!(check("ci.yml", b"jobs: [{name: j}]", false).is_spotless());
}

#[test]
fn keys_that_are_there_twice_are_refused_with_their_place() {
    let wrong = check("ci.yml", b"jobs:\n- name: a\n  name: b\n", false);
    assert!(!wrong.is_valid());
    assert_eq!(
        wrong.text(),
        "error: key `name` is here a second time; the first is in line 2\n \
         --> ci.yml:3:3\n  |\n3 |   name: b\n  |   ^^^^\n\nci.yml: 1 problem\n"
    );
    // Concourse takes such a task file.
    let odd = check("task.yml", b"platform: linux\nplatform: linux\n", true);
    assert!(odd.is_valid() && !odd.is_spotless());
    let warning = &odd.json()["warnings"][0];
    assert_eq!(
        (&warning["type"], &warning["line"], &warning["column"]),
        (&json!("duplicate_key"), &json!(2), &json!(1))
    );
}

/// Returns the line and column of the first warning of a type.
fn warned(text: &str, type_: &str) -> Option<(u64, u64)> {
    let odd = check("ci.yml", text.as_bytes(), false).json();
    let mut warnings = odd["warnings"].as_array()?.iter();
    let warning = warnings.find(|warning| warning["type"] == type_)?;
    Some((warning["line"].as_u64()?, warning["column"].as_u64()?))
}

#[test]
fn every_kind_of_warning_has_its_place() {
    let name = "invalid_identifier";
    for (text, type_, line, column) in [
        (
            "groups: [{name: G, jobs: [j]}]\njobs: [{name: j}]",
            name,
            1,
            17,
        ),
        (
            "resources:\n- name: R\n  type: mock\njobs: [{name: j, plan: [{get: R}]}]",
            name,
            2,
            9,
        ),
        (
            "jobs:\n- name: j\n  build_logs_to_retain: 3\n",
            "deprecated_field",
            3,
            25,
        ),
        (
            "resources: [{name: r, type: mock}]\njobs:\n- name: j\n  plan: [{get: r, version: newest}]",
            "pipeline",
            4,
            28,
        ),
    ] {
        assert_eq!(warned(text, type_), Some((line, column)), "{text}");
    }
    let config = "config: {platform: linux, image_resource: {type: mock}, run: {path: x}}}";
    for (step, type_, line, column) in [
        ("{task: T", name, 4, 12),
        ("{task: t, hermetic: true", "pipeline", 4, 25),
        ("{task: t, image: i", "pipeline", 4, 22),
        ("{task: t, image: i", "missing_artifact", 4, 22),
        ("{task: t, params: {V: 1.10}", "yaml_trap", 4, 27),
        (
            "{load_var: v, file: a/b}\n  - {across: [{var: v, values: [1]}], task: t",
            "var_shadowed",
            5,
            15,
        ),
    ] {
        let text = format!("jobs:\n- name: j\n  plan:\n  - {step}, {config}\n");
        assert_eq!(warned(&text, type_), Some((line, column)), "{text}");
    }
}

#[test]
fn a_platform_that_no_worker_has_is_warned_of() {
    let pipeline = b"jobs:\n- name: j\n  plan:\n  - task: t\n    config: {platform: darwin, run: {path: uname}}\n";
    for odd in [
        check("ci.yml", pipeline, false),
        check("t.yml", b"platform: darwin\nrun: {path: uname}", true),
    ] {
        assert!(odd.is_valid() && !odd.is_spotless());
        let words = "no workers satisfying: platform 'darwin'";
        assert!(odd.text().contains(words), "{}", odd.text());
    }
    assert!(check("t.yml", b"platform: ((platform))\nrun: {path: x}", true).is_spotless());
}

#[test]
fn task_files_and_unreadable_ones() {
    assert!(check("t.yml", b"platform: linux", true).is_valid());
    assert!(!check("t.yml", b"platform: linux", false).is_valid());
    let text = check("t.yml", b"a: \xff", true).text();
    assert_eq!(
        text,
        "airside: cannot read t.yml: it is not UTF-8 text (byte 3)\n"
    );
    let gone = Check::read(Path::new("no/such/file"), false, &values(&[]));
    assert!(gone.json()["problems"][0]["message"].is_string());
}

#[test]
fn variables_are_filled_in_where_they_stand() {
    let pipeline = b"jobs:\n- name: ((name))\n  max_in_flight: ((room))\n  serial: ((s.deep))\n";
    // They have no value here: the server decides.
    assert!(!check("ci.yml", pipeline, false).is_valid());
    let given = ["-v", "name=j", "-y", "room=3", "-y", "s.deep=true"];
    let good = check_with("ci.yml", pipeline, false, &given);
    assert!(good.is_spotless(), "{}", good.text());
    // What is wrong with a value is told at the variable.
    let wrong = check_with(
        "ci.yml",
        pipeline,
        false,
        &["-v", "name=j", "-y", "room={}", "-y", "s.deep=true"],
    );
    assert_eq!(wrong.json()["problems"][0]["line"], 3, "{}", wrong.text());
    // A map cannot be put into a text.
    let wrong = check_with(
        "ci.yml",
        b"jobs:\n- name: a-((name))\n",
        false,
        &["-y", "name={a: b}"],
    );
    assert_eq!(wrong.json()["problems"][0]["line"], 2, "{}", wrong.text());
}

#[test]
fn options_win_over_files_and_later_files_over_earlier_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (one, two) = (
        file("1.yml", "a: 1\nb: 1\nc: 1\n"),
        file("2.yml", "b: 2\nc: 2\n"),
    );
    let values = values(&["-l", &one, "-y", "c=3", "-l", &two]);
    let node = airside_yaml::parse("[((a)), ((b)), ((c)), ((d))]").unwrap();
    let filled = values
        .fill(node)
        .map_err(|unfilled| unfilled.message)
        .unwrap();
    assert_eq!(filled.to_json().unwrap(), json!([1, 2, 3, "((d))"]));
}

#[test]
fn bad_variables_are_refused_in_words() {
    for args in [["-v", "noequals"], ["-y", "a=[1"], ["-v", "=x"]] {
        assert!(Typed::try_parse_from(args).is_err(), "{args:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vars.yml");
    std::fs::write(&path, "a: [1").unwrap();
    let shown = path.display().to_string();
    let read = |file: &str| {
        let typed = Typed::try_parse_from(["-l", file]).unwrap();
        typed.variables.read().map(|_| ()).unwrap_err()
    };
    assert!(
        read(&shown).starts_with(&format!("{shown}:1:")),
        "{}",
        read(&shown)
    );
    std::fs::write(&path, "[1]").unwrap();
    assert!(read(&shown).contains("`name: value`"));
    assert!(read("no/such/file").starts_with("cannot read no/such/file"));
}

#[test]
fn fixing_writes_the_file_and_checks_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ci.yml");
    let old = "jobs:\n- nam: j # kept\n  plan:\n  - {get: {{r}}, paramss: {}, banana: 1}\n";
    let new = "jobs:\n- name: j # kept\n  plan:\n  - {get: ((r)), params: {}, banana: 1}\n";
    std::fs::write(&file, old).unwrap();
    let fix = |only_shown| {
        let mut check = Check::fix(&file, false, &values(&["-v", "r=x"]), only_shown);
        check.file = "ci.yml".to_owned();
        check
    };
    let planned = fix(true);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), old);
    assert!(
        planned.text().contains("ci.yml: would fix 2 lines"),
        "{}",
        planned.text()
    );
    assert_eq!(planned.json()["changes"][0]["line"], 2);
    let done = fix(false);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), new);
    let text = done.text();
    assert!(
        text.starts_with("ci.yml:2\n- - nam: j # kept\n+ - name: j # kept\n"),
        "{text}"
    );
    assert!(text.contains("unknown fields [\"banana\"]"), "{text}");
    assert!(text.contains("unknown resource 'x'"), "{text}");
    let again = fix(false);
    assert!(again.changes.is_empty());
    assert_eq!(again.json()["problems"], done.json()["problems"]);
}
