use std::path::Path;

use crate::targets;

fn file(privileged: &str, rule: &str) -> String {
    format!(
        "targets:\n- name: c\n  namespace: ci\n  hub_host: hub\n  privileged: {privileged}\n  \
         pod_rules:\n  - {rule}\n"
    )
}

fn read(text: &str) -> Result<(), String> {
    let read = targets::parse(Path::new("targets.yml"), text);
    read.map(drop).map_err(|error| error.to_string())
}

fn spec(privileged: &str, spec: &str) -> Result<(), String> {
    let rule = format!("{{match: {{team: main}}, patch: {{spec: {spec}}}}}");
    read(&file(privileged, &rule))
}

/// Checks that the result is this refusal, on line 7 always.
fn refused(result: Result<(), String>, expected: &str) {
    let said = result.expect_err(expected);
    assert!(said.starts_with("targets.yml:7:"), "{said}");
    assert!(said.contains(expected), "{said}\nlacks: {expected}");
}

#[test]
fn a_rule_needs_a_team_and_whole_patterns() {
    for (rule, expected) in [
        ("{match: {}, patch: {}}", "missing field `team`"),
        (
            "{match: {team: ''}, patch: {}}",
            "match.team: must not be empty",
        ),
        ("{match: {team: a, branch: b}, patch: {}}", "unknown field"),
        (
            "{match: {team: a, job: '['}, patch: {}}",
            "match.job: \"[\" is not a pattern",
        ),
        (
            "{match: {team: a, job: ''}, patch: {}}",
            "match.job: \"\" is not a pattern",
        ),
        (
            "{match: {team: a, tags: ['']}, patch: {}}",
            "match.tags: must not be empty",
        ),
        (
            "{match: {team: a, kind: deploy}, patch: {}}",
            "match.kind: \"deploy\" is not a kind of step; use get, put, check or task",
        ),
        (
            "{match: {team: a, type: helm}, patch: {}}",
            "match.type: \"helm\" is not a native resource type",
        ),
        ("{match: {team: a}}", "missing field `patch`"),
        ("{match: {team: a}, patch: x}", "patch: must be a map"),
        (
            "{match: {team: a}, patch: {status: {}}}",
            "may not set \"status\"",
        ),
    ] {
        refused(read(&file("deny", rule)), expected);
    }
}

#[test]
fn what_carries_the_isolation_is_nobodys() {
    for (patch, expected) in [
        ("{hostUsers: true}", "may not set \"hostUsers\""),
        ("{hostNetwork: true}", "may not set \"hostNetwork\""),
        (
            "{shareProcessNamespace: true}",
            "may not set \"shareProcessNamespace\"",
        ),
        ("{restartPolicy: Always}", "may not set \"restartPolicy\""),
        ("{securityContext: {}}", "may not set \"securityContext\""),
        (
            "{activeDeadlineSeconds: 1}",
            "may not set \"activeDeadlineSeconds\"",
        ),
        (
            "{automountServiceAccountToken: true}",
            "name the account too",
        ),
        (
            "{containers: [{name: step, command: [x]}]}",
            "spec.containers[0]: a rule may not set \"command\"",
        ),
        (
            "{containers: [{name: step, image: x}]}",
            "may not set \"image\"",
        ),
        (
            "{containers: [{name: step, env: []}]}",
            "may not set \"env\"",
        ),
        (
            "{containers: [{name: step, securityContext: {capabilities: {add: [NET_ADMIN]}}}]}",
            "capabilities: a rule may only take rights from a step",
        ),
        (
            "{containers: [{name: step, securityContext: {allowPrivilegeEscalation: true}}]}",
            "allowPrivilegeEscalation: a rule may only take rights from a step",
        ),
        (
            "{containers: [{name: step, securityContext: {procMount: Unmasked}}]}",
            "procMount: a rule may only take rights from a step",
        ),
        (
            "{containers: [{name: step, volumeMounts: [{name: d, mountPath: /.airside/bin}]}]}",
            "nothing may be mounted at \"/.airside/bin\"",
        ),
        (
            "{containers: [{name: step, volumeMounts: [{name: d, mountPath: /.airside-state}]}]}",
            "nothing may be mounted",
        ),
        (
            "{containers: [{name: step, volumeMounts: [{name: d, mountPath: /}]}]}",
            "nothing may be mounted at \"/\"",
        ),
        (
            "{containers: [{name: s, image: i, volumeMounts: [{name: proof, mountPath: /p}]}]}",
            "this volume is the step's own",
        ),
        (
            "{containers: [{name: s, image: i, volumeMounts: [{name: d, mountPath: /d, mountPropagation: Bidirectional}]}]}",
            "may not set \"mountPropagation\"",
        ),
        (
            "{containers: [{name: s, image: i, ports: [{containerPort: 1, hostPort: 1}]}]}",
            "may not set \"hostPort\"",
        ),
        (
            "{containers: [{name: s, image: i, securityContext: {privileged: true}}]}",
            "may not set \"privileged\"",
        ),
        (
            "{containers: [{name: s, image: i, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]}",
            "need a target that allows",
        ),
        (
            "{containers: [{name: s, image: i, securityContext: {seccompProfile: {type: Unconfined}}}]}",
            "need a target that allows",
        ),
        (
            "{volumes: [{name: v, hostPath: {path: /}}]}",
            "may not set \"hostPath\"",
        ),
        (
            "{volumes: [{name: shim, emptyDir: {}}]}",
            "this name is taken",
        ),
        (
            "{initContainers: [{name: airside-shim, image: i, restartPolicy: Always}]}",
            "this name is taken",
        ),
    ] {
        refused(spec("deny", patch), expected);
    }
    for (metadata, expected) in [
        ("{labels: {airside.dev/worker: x}}", "is Airside's own"),
        (
            "{annotations: {airside.dev/spec-hash: x}}",
            "is Airside's own",
        ),
        ("{name: x}", "may not set \"name\""),
    ] {
        let rule = format!("{{match: {{team: main}}, patch: {{metadata: {metadata}}}}}");
        refused(read(&file("deny", &rule)), expected);
    }
}

#[test]
fn what_kubernetes_does_not_know_is_found_however_deep() {
    for (patch, expected) in [
        (
            "{affinity: {podAfinity: {}}, runtimeClass: a}",
            "may not set \"runtimeClass\"",
        ),
        (
            "{affinity: {podAfinity: {x: 1}}}",
            "spec.affinity: unknown field \"podAfinity\"",
        ),
        (
            "{tolerations: [{key: a, efect: NoSchedule}]}",
            "spec.tolerations[0]: unknown field \"efect\"",
        ),
        ("{nodeSelector: {pool: 1}}", "spec.nodeSelector: "),
        ("{serviceAccountName: 7}", "spec.serviceAccountName: "),
        ("{containers: {name: step}}", "spec.containers"),
        ("{containers: [{image: x}]}", "needs a name"),
        ("{containers: [{name: side}]}", "needs an image"),
        (
            "{containers: [{name: side, image: x, restartPolicy: Always}]}",
            "is for initContainers",
        ),
        (
            "{initContainers: [{name: side, image: x}]}",
            "needs `restartPolicy: Always`",
        ),
        ("{volumes: [{name: v}]}", "one kind of volume"),
        ("{volumes: [{emptyDir: {}}]}", "needs a name"),
    ] {
        refused(spec("deny", patch), expected);
    }
    for (metadata, expected) in [
        (
            "{labels: {cost: 7}}",
            "metadata.labels.cost: must be a text, not 7",
        ),
        ("{labels: {cost: 'a b'}}", "cannot be a label"),
        ("{labels: {'a b': c}}", "is not a key"),
        ("{labels: [a]}", "must be a map"),
    ] {
        let rule = format!("{{match: {{team: main}}, patch: {{metadata: {metadata}}}}}");
        refused(read(&file("deny", &rule)), expected);
    }
}

#[test]
fn a_target_with_privileged_steps_allows_more() {
    let step = "{containers: [{name: step, securityContext: {capabilities: {add: [NET_ADMIN]}}}]}";
    let side =
        "{containers: [{name: s, image: i, securityContext: {capabilities: {add: [NET_ADMIN]}}}]}";
    for privileged in ["userns", "host"] {
        spec(privileged, step).unwrap();
        spec(privileged, side).unwrap();
        let user = "{containers: [{name: step, securityContext: {runAsUser: 1}}]}";
        refused(spec(privileged, user), "may not set \"runAsUser\"");
    }
}

#[test]
fn a_mistake_is_told_on_its_own_line() {
    let text = "targets:\n- name: c\n  namespace: ci\n  hub_host: hub\n  pod_rules:\n  - match: {team: main}\n    \
                patch:\n      spec:\n        affinity:\n          podAffinity:\n            required: []\n            oops: 1\n";
    let said = read(text).unwrap_err();
    assert!(
        said.starts_with("targets.yml:12:13: pod_rules: spec.affinity.podAffinity: unknown field"),
        "{said}"
    );
}

#[test]
fn what_only_takes_rights_away_is_always_allowed() {
    let rule = "{containers: [{name: step, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: \
                [ALL]}, seccompProfile: {type: RuntimeDefault}}}]}";
    for privileged in ["deny", "userns", "host"] {
        spec(privileged, rule).unwrap();
    }
}
