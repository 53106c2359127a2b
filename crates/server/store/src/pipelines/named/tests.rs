use airside_model::{SaveJob, SaveResource};
use serde_json::json;

use super::*;
use crate::{SavePipeline, testing::TestDatabase};

crate::on_both_databases!(
    names_are_found_in_what_one_may_see,
    names_are_like_texts_and_not_patterns,
);

async fn save(store: &Store, team: TeamId, name: &str, env: Option<&str>) -> PipelineId {
    let vars = env.map_or_else(InstanceVars::default, |env| {
        InstanceVars::new(serde_json::Map::from_iter([("env".into(), json!(env))]))
    });
    let save = SavePipeline {
        team,
        name: name.into(),
        instance_vars: vars,
        config: json!({}),
        jobs: vec![SaveJob::named("Unit"), SaveJob::named("50%_done")],
        resources: vec![SaveResource::named("repo", "git")],
        expected_version: None,
    };
    store.save_pipeline(save).await.unwrap().pipeline.id
}

async fn found(
    store: &Store,
    kind: NamedKind,
    wanted: &NameMatch,
    teams: &[TeamId],
) -> Vec<(i64, String)> {
    let found = store.find_named(kind, wanted, teams, 10).await.unwrap();
    found
        .into_iter()
        .map(|it| (it.pipeline.0, it.name))
        .collect()
}

fn words(text: &str) -> NameMatch {
    NameMatch::Words(text.split_whitespace().map(str::to_owned).collect())
}

async fn names_are_found_in_what_one_may_see(database: TestDatabase) {
    let store = database.open().await;
    let own = store.ensure_main_team(&json!({})).await.unwrap().id;
    let (other, _) = store.save_team("other", &json!({})).await.unwrap();
    let web = save(&store, own, "web", Some("prod")).await;
    let hidden = save(&store, other.id, "webshop", None).await;
    let pipelines = |text: &str| words(text);
    let seen = found(&store, NamedKind::Pipeline, &pipelines("WEB"), &[own]).await;
    assert_eq!(seen, [(web.0, "web".to_owned())]);
    let by_vars = found(&store, NamedKind::Pipeline, &pipelines("main prod"), &[own]).await;
    assert_eq!(by_vars, seen);
    assert_eq!(
        found(&store, NamedKind::Pipeline, &pipelines("web"), &[]).await,
        []
    );
    let jobs = found(&store, NamedKind::Job, &words("web unit"), &[own]).await;
    assert_eq!(jobs, [(web.0, "Unit".to_owned())]);
    store.set_pipeline_public(hidden, true).await.unwrap();
    let resources = found(&store, NamedKind::Resource, &words("repo"), &[own]).await;
    assert_eq!(resources.len(), 2);
    store.archive_pipeline(hidden).await.unwrap();
    let resources = found(&store, NamedKind::Resource, &words("repo"), &[own]).await;
    assert_eq!(resources, [(web.0, "repo".to_owned())]);
}

async fn names_are_like_texts_and_not_patterns(database: TestDatabase) {
    let store = database.open().await;
    let own = store.ensure_main_team(&json!({})).await.unwrap().id;
    save(&store, own, "p", None).await;
    let teams = [own];
    for (wanted, count) in [
        (words("%"), 1),
        (words("0%_d"), 1),
        (words("~"), 0),
        (words("nothing"), 0),
        (NameMatch::Exact("unit".into()), 1),
        (NameMatch::Exact("uni".into()), 0),
        (NameMatch::Exact("5%".into()), 0),
        (NameMatch::Prefix("UN".into()), 1),
        (NameMatch::Prefix("nit".into()), 0),
        (NameMatch::Letters("ut".into()), 1),
        (NameMatch::Letters("5_e".into()), 1),
        (NameMatch::Letters("tu".into()), 0),
    ] {
        let found = found(&store, NamedKind::Job, &wanted, &teams).await;
        assert_eq!(found.len(), count, "{wanted:?}");
    }
}
