//! Judging: a policy of the cluster has the last word about every way to set a pipeline.

use airside_setting::SetPipelineError;
use serde_json::{Value, json};

use crate::{
    cluster::Mood,
    stage::{Stage, condition, config, object},
};

fn privileged() -> Value {
    json!({"jobs": [{"name": "j", "plan": [{"in_parallel": [{"try": {
        "task": "t", "file": "x/y.yml", "on_failure": {"task": "hook", "privileged": true, "file": "x/y.yml"},
    }}]}]}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_refuses_fly_and_objects_in_its_own_words() {
    let stage = Stage::start("").await;
    stage.cluster.with(|world| world.refuses_privileged = true);
    let refused = stage.fly("app", &privileged()).await.unwrap_err();
    assert!(
        matches!(&refused, SetPipelineError::Refused(words) if words.contains("tasks may not be privileged here")),
        "{refused:?}"
    );
    assert!(stage.find("app").await.is_none());

    stage.cluster.create(
        "pipelines",
        object("other", &json!({"config": privileged()})),
    );
    stage.until_condition("other", "Stalled", "True").await;
    let ready = condition(&stage.cluster.get("pipelines", "other").unwrap(), "Ready");
    assert_eq!(ready["reason"], "Refused");
    let words = ready["message"].as_str().unwrap();
    assert!(
        words.contains("tasks may not be privileged here"),
        "{words}"
    );
    assert!(stage.find("other").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_refuses_in_its_own_words_and_one_that_allows_no_dry_run_says_so() {
    let stage = Stage::start("").await;
    for words in [
        "admission webhook \"ci.example.com\" denied the request: no pipelines on Fridays",
        "admission webhook \"ci.example.com\" does not support dry run",
    ] {
        stage
            .cluster
            .with(|world| world.webhook = Some(words.to_owned()));
        let refused = stage.fly("app", &config("true")).await.unwrap_err();
        assert_eq!(refused.to_string(), words);
        assert!(stage.find("app").await.is_none());
    }
    stage.cluster.with(|world| world.webhook = None);
    stage.fly("app", &config("true")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_has_facts_and_nothing_of_the_configuration() {
    let stage = Stage::start("").await;
    let mut config = config("echo s3cret-script");
    let plan = config["jobs"][0]["plan"].as_array_mut().unwrap();
    plan.push(json!({"get": "code"}));
    config["resources"] = json!([{"name": "code", "type": "git", "source": {
        "uri": "https://ann:s3cret-password@git.example.com/app?token=s3cret-query", "password": "s3cret",
    }}]);
    stage.fly("app", &config).await.unwrap();
    let judged = stage.cluster.requests("PATCH", "/pipelines/app");
    let judged = judged.iter().find(|one| one.is_dry_run()).unwrap();
    assert_eq!(
        (judged.query("fieldManager"), judged.query("force")),
        ("airside-judge", "true")
    );
    let facts = &judged.body["spec"]["facts"];
    assert_eq!(
        (&facts["through"], &facts["by"]),
        (&json!("fly"), &json!("local:ann"))
    );
    assert_eq!(facts["steps"][0]["name"], "t");
    assert!(
        facts["resources"][0]["uri"]
            .as_str()
            .unwrap()
            .contains("git.example.com")
    );
    let sent = judged.body.to_string();
    assert!(!sent.contains("s3cret"), "{sent}");
    stage.until_condition("app", "Ready", "True").await;
    let all = stage.cluster.requests("", "");
    assert!(
        all.iter()
            .all(|one| !one.body.to_string().contains("s3cret"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_away_fails_closed() {
    let stage = Stage::start("").await;
    stage.fly("app", &config("true")).await.unwrap();
    stage.cluster.set_mood(Mood::Away);
    let refused = stage.fly("app", &config("false")).await.unwrap_err();
    assert!(
        matches!(&refused, SetPipelineError::Unavailable { cluster } if cluster == "c"),
        "{refused:?}"
    );
    stage.cluster.set_mood(Mood::Well);
    stage.fly("app", &config("false")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_applies_the_object_and_respects_its_other_owners() {
    let stage = Stage::start("    fly: proxy\n").await;
    let mut secret = config("true");
    let plan = secret["jobs"][0]["plan"].as_array_mut().unwrap();
    plan.push(json!({"get": "r"}));
    secret["resources"] = json!([{"name": "r", "type": "git", "source": {"password": "s3cret"}}]);
    let refused = stage.fly("app", &secret).await.unwrap_err().to_string();
    assert!(
        refused.contains("resources.r.source.password") && !refused.contains("s3cret"),
        "{refused}"
    );
    stage.fly("app", &config("true")).await.unwrap();
    stage.until_condition("app", "Ready", "True").await;
    let applied = stage.cluster.get("pipelines", "app").unwrap();
    assert_eq!(applied["spec"]["config"]["jobs"][0]["name"], "j");
    assert_eq!(
        applied["metadata"]["managedFields"][0]["manager"],
        "airside-fly"
    );
    stage
        .cluster
        .with(|world| world.give("app", "kustomize-controller"));
    let refused = stage
        .fly("app", &config("false"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("kustomize-controller owns .spec.config"),
        "{refused}"
    );
    let same = stage.cluster.get("pipelines", "app").unwrap();
    assert_eq!(same["spec"], applied["spec"]);
}

/// The server was killed after it had applied an object for a user, and before it saved.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_applied_and_not_saved_is_saved_by_the_next_look() {
    let mut stage = Stage::start("    fly: proxy\n").await;
    for round in 0..10 {
        let wanted = config(&format!("echo {round}"));
        {
            let setting = stage.fly("app", &wanted);
            let applied = stage.until("the object is applied", async || {
                let object = stage.cluster.get("pipelines", "app").unwrap_or_default();
                object["spec"]["config"] == wanted
            });
            // Whoever is first: the request is given up once the object is there.
            tokio::select! {
                _ = setting => {}
                () = applied => {}
            }
        }
        stage.kill().await;
        stage.run().await;
        stage.until_condition("app", "Ready", "True").await;
        let object = stage.cluster.get("pipelines", "app").unwrap();
        let id = stage.find("app").await.unwrap().id;
        let owner = stage.store.pipeline_object(id).await.unwrap().unwrap();
        assert_eq!(object["metadata"]["generation"], owner.generation);
        let stored = stage
            .store
            .pipeline(stage.team.id, "app")
            .await
            .unwrap()
            .unwrap()
            .config;
        assert_eq!(
            stored["jobs"][0]["plan"][0]["config"]["run"]["args"][1],
            format!("echo {round}")
        );
    }
}
