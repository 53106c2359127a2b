use super::super::given::Variables;
use super::*;
use proptest::prelude::*;

fn fixed(text: &str) -> String {
    fix(text, false, &Variables::default().read().unwrap())
}

fn fixed_task(text: &str) -> String {
    fix(text, true, &Variables::default().read().unwrap())
}

const HEAD: &str = "resources: [{name: r, type: mock}] # kept\n";

#[test]
fn old_variables_get_their_new_form() {
    for (old, new) in [
        ("a: {{b}}\njobs: [{name: j}]", "a: ((b))\njobs: [{name: j}]"),
        (
            "x: [ {{a}},{{b-c}} ]\ny: {{a}}/{{b}} # {{kept}}\nz: \"{{kept}}\"\n",
            "x: [ ((a)),((b-c)) ]\ny: ((a))/((b)) # {{kept}}\nz: \"{{kept}}\"\n",
        ),
        (
            "s: |\n  docker {{.Id}} {{kept}}\nt: {{v}}\r\n",
            "s: |\n  docker {{.Id}} {{kept}}\nt: ((v))\r\n",
        ),
        // A problem that shows only then does not stop it.
        ("jobs: {{jobs}}\n", "jobs: ((jobs))\n"),
    ] {
        assert_eq!(fixed(old), new);
    }
    for text in ["a: {{ b }}", "a: [{{b}}", "a: '{{b}}'", "a: {{.b}}"] {
        assert_eq!(fixed(text), text);
    }
}

#[test]
fn keys_get_their_right_form_where_only_one_is_meant() {
    for (old, new) in [
        (
            "- {nam: j, paln: [{get: r}]}",
            "- {name: j, plan: [{get: r}]}",
        ),
        (
            "- {name: j, plan: [{tsak: t, fiel: r/t.yml}]}",
            "- {name: j, plan: [{task: t, file: r/t.yml}]}",
        ),
        (
            "- {name: j, plan: [{aggregate: [{gte: r, triger: true}]}]}",
            "- {name: j, plan: [{in_parallel: [{get: r, trigger: true}]}]}",
        ),
        ("- {\"nmae\": j, plan: []}", "- {\"name\": j, plan: []}"),
        (
            "- {name: j, plan: [{get: r, params: {aggregate: 1}, versoin: every}]}",
            "- {name: j, plan: [{get: r, params: {aggregate: 1}, version: every}]}",
        ),
    ] {
        let text = |job: &str| format!("{HEAD}jobs:\n{job} # kept\n");
        assert_eq!(fixed(&text(old)), text(new));
    }
    for job in [
        // There already, or meant by two.
        "- {name: j, nmae: k}",
        "- {nmae: j, naem: k}",
        // Far from all, or near to two.
        "- {name: j, banana: 1}",
        "- {name: j, plan: [{get: r, tag: x}, {put: r, get_parms: {}, ge: 1}]}",
        // Duplicates are for a person.
        "- {name: j, name: k}",
    ] {
        let text = format!("{HEAD}jobs:\n{job}\n");
        let expected = text
            .replace("tag:", "tags:")
            .replace("get_parms", "get_params");
        let fixed = fixed(&text);
        assert!(fixed == text || fixed == expected, "{fixed}");
    }
}

#[test]
fn texts_get_quotes_where_text_is_wanted() {
    let config = "config: {platform: linux, run: {path: x";
    for (old, new) in [
        (
            "task: t, params: {A: 1.10, B: 0777, C: 12, D: yes, on: x}",
            "task: t, params: {A: \"1.10\", B: \"0777\", C: 12, D: yes, \"on\": x}",
        ),
        ("task: 1.10", "task: \"1.10\""),
    ] {
        let text =
            |step: &str| format!("jobs:\n- name: j\n  plan:\n  - {{{step}, {config}}}}}}}\n");
        assert_eq!(fixed(&text(old)), text(new));
    }
    let task = "platform: linux\nparams: {V: 1.20} # kept\nrun: {path: x, args: [1, 2.0, ok]}\n";
    let quoted = "platform: linux\nparams: {V: \"1.20\"} # kept\nrun: {path: x, args: [\"1\", \"2.0\", ok]}\n";
    assert_eq!(fixed_task(task), quoted);
    // With quotes it is no better.
    let text =
        "resources: [{name: r, type: mock}]\njobs: [{name: j, plan: [{get: r, timeout: 10}]}]\n";
    assert_eq!(fixed(text), text);
}

#[test]
fn changes_are_shown_by_line() {
    let old = "a: {{b}}\nb: 1\r\nc: {{d}}";
    let changes = changed_lines(old, &fixed(old));
    assert_eq!(
        show_changes(&changes, "ci.yml", false),
        "ci.yml:1\n- a: {{b}}\n+ a: ((b))\nci.yml:3\n- c: {{d}}\n+ c: ((d))\nci.yml: fixed 2 lines\n\n"
    );
    assert!(show_changes(&changes[..1], "ci.yml", true).ends_with("ci.yml: would fix 1 line\n\n"));
    assert_eq!(show_changes(&[], "ci.yml", true), "");
}

fn word() -> impl Strategy<Value = String> {
    let words = [
        "get: r",
        "gte: r",
        "put: r",
        "task: t",
        "tsak: t",
        "task: 1.10",
        "aggregate: []",
        "trigger: yes",
        "triger: yes",
        "timeout: 10",
        "timeout: 1h",
        "params: {A: 1.10, on: 0777}",
        "params: {a: {{b}}}",
        "pasesd: [j]",
        "file: {{f}}/x.yml",
        "file: r/t.yml",
        "fiel: r/t.yml",
        "config: {platform: linux, run: {path: x, arsg: [1]}}",
        "get: {{v}}",
        "do: [{tsak: u, file: r/t}]",
        "# {{c}}",
        "version: {ref: 1.10}",
        "tags: [1, {{b}}]",
        "\"paln\": 1",
        "x: &a {nmae: 010}",
        "y: *a",
        "s: '{{q}}'",
        "across: [{var: n, values: [1.10]}]",
        "é: ü",
    ];
    proptest::sample::select(words.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn fixing_again_changes_nothing_and_keeps_layout(
        steps in prop::collection::vec(prop::collection::vec(word(), 1..4), 0..5),
        name in "(name|nmae|naem): [a-z]{1,3}",
    ) {
        let steps: String = steps
            .iter()
            .map(|step| format!("  - {}\n", step.join("\n    ")))
            .collect();
        let text = format!("{HEAD}jobs:\n- {name}\n  plan: # kept\n{steps}");
        let once = fixed(&text);
        prop_assert_eq!(&fixed(&once), &once, "{}", text);
        prop_assert_eq!(once.lines().count(), text.lines().count());
        prop_assert!(once.starts_with(HEAD) && once.contains("plan: # kept"));
        prop_assert!(airside_yaml::parse(&text).is_err() || airside_yaml::parse(&once).is_ok());
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-a-z0-9{}()\\[\\]:,'\"#&* |\n.é]{0,80}") {
        let once = fixed(&text);
        prop_assert_eq!(fixed(&once), once);
    }
}
