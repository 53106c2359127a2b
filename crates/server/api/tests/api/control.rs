//! Pipelines that a cluster judges, and those that its objects set.

use std::sync::Arc;

use airside_setting::{
    FlyMode, JudgeError,
    testing::{ScriptedJudge, pipeline_object},
};
use airside_store::InstanceVars;
use http::StatusCode;
use serde_json::json;

use crate::support::{PIPELINE, Server, TP};

async fn judged(mode: FlyMode) -> (Server, Arc<ScriptedJudge>, String) {
    let judge = Arc::new(ScriptedJudge::new(Some(mode), Ok(())));
    let server = Server::start_judged(judge.clone()).await;
    let ann = server.login("ann").await;
    (server, judge, ann)
}

/// Lets an object set the pipeline, as the part of the server does that watches the cluster.
async fn adopt(server: &Server) {
    let team = server.store.team("main").await.unwrap().unwrap().id;
    let vars = InstanceVars::default();
    let head = server.store.pipeline_head(team, "p", &vars).await;
    let head = head.unwrap().unwrap();
    let object = pipeline_object("ci-main", "app");
    let claimed = server
        .store
        .claim_pipeline(head.id, head.config_version, &object);
    claimed.await.unwrap();
}

const OWNED: &str = "pipeline p is set by pipeline.ci.airside.dev/app in ci-main; change it there";

#[tokio::test]
async fn a_policy_refuses_in_its_own_words_and_a_cluster_that_is_away_fails_closed() {
    let (server, judge, ann) = judged(FlyMode::Judge).await;
    let words = "tasks may not be privileged here";
    judge.answer_with(Err(JudgeError::Refused(words.into())));
    let refused = server.set_pipeline(&ann, "", PIPELINE).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_eq!(refused.text, words);
    assert_eq!(judge.take_asked(), ["judge main/p of 3 steps by local:ann"]);

    let cluster = "build-cluster".to_owned();
    judge.answer_with(Err(JudgeError::Unavailable { cluster }));
    let away = server.set_pipeline(&ann, "", PIPELINE).await;
    assert_eq!(away.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(away.text.contains("cluster build-cluster"), "{}", away.text);
    assert_eq!(away.header("retry-after"), "5");
    assert_eq!(server.get(&ann, TP).await.status, StatusCode::NOT_FOUND);

    judge.answer_with(Ok(()));
    let set = server.set_pipeline(&ann, "", PIPELINE).await;
    assert_eq!((set.status, set.text.as_str()), (StatusCode::CREATED, "{}"));
    // What makes no sense is told before anybody judges it.
    judge.take_asked();
    let invalid = server.set_pipeline(&ann, "", "jobs: [{name: 7").await;
    assert_eq!(invalid.status, StatusCode::BAD_REQUEST);
    assert_eq!(judge.take_asked(), Vec::<String>::new());
}

#[tokio::test]
async fn what_an_object_sets_is_changed_there() {
    for mode in [FlyMode::Store, FlyMode::Judge] {
        let (server, judge, ann) = judged(mode).await;
        let set = server.set_pipeline(&ann, "", PIPELINE).await;
        assert_eq!(set.status, StatusCode::CREATED);
        adopt(&server).await;
        judge.take_asked();

        let refused = server.set_pipeline(&ann, "", PIPELINE).await;
        assert_eq!(
            (refused.status, refused.text.as_str()),
            (StatusCode::FORBIDDEN, OWNED)
        );
        let rename = json!({"name": "q"});
        let renaming = format!("{TP}/rename");
        let answers = [
            server.send_json(&ann, "PUT", &renaming, &rename).await,
            server.put(&ann, &format!("{TP}/archive")).await,
            server.call(Some(&ann), "DELETE", TP).await,
        ];
        for answer in answers {
            assert_eq!(answer.status, StatusCode::FORBIDDEN);
            let words = "pipeline p is set by pipeline.ci.airside.dev/app in ci-main; ";
            assert!(answer.text.starts_with(words), "{}", answer.text);
        }
        for verb in ["pause", "unpause", "expose", "hide"] {
            let answer = server.put(&ann, &format!("{TP}/{verb}")).await;
            assert_eq!(answer.status, StatusCode::OK, "{verb}");
        }
        assert_eq!(judge.take_asked(), Vec::<String>::new());
        assert_eq!(server.get(&ann, TP).await.json()["archived"], false);
    }
}

#[tokio::test]
async fn a_team_of_objects_alone_is_told_where_they_are() {
    let (server, _, ann) = judged(FlyMode::Refuse).await;
    let refused = server.set_pipeline(&ann, "", PIPELINE).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(
        refused.text.contains("in ci-main of cluster c"),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn a_proxy_applies_and_deletes_objects_for_users() {
    let (server, judge, ann) = judged(FlyMode::Proxy).await;
    let set = server.set_pipeline(&ann, "", PIPELINE).await;
    assert_eq!(set.status, StatusCode::CREATED);
    assert_eq!(judge.take_asked(), ["apply p for local:ann"]);
    let stale = server.set_pipeline(&ann, "", PIPELINE).await;
    assert_eq!(stale.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(
        judge.take_asked(),
        Vec::<String>::new(),
        "nothing is applied that cannot be saved"
    );

    let owned = "kustomize-controller owns .spec.config".to_owned();
    judge.answer_with(Err(JudgeError::Refused(owned.clone())));
    let destroyed = server.call(Some(&ann), "DELETE", TP).await;
    assert_eq!(
        (destroyed.status, destroyed.text),
        (StatusCode::FORBIDDEN, owned)
    );
    judge.answer_with(Ok(()));
    judge.take_asked();
    let destroyed = server.call(Some(&ann), "DELETE", TP).await;
    assert_eq!(destroyed.status, StatusCode::NO_CONTENT);
    assert_eq!(judge.take_asked(), ["delete applied of main"]);
}

#[tokio::test]
async fn hostile_renames_take_over_no_namespace_of_a_cluster() {
    let (server, _, ann) = judged(FlyMode::Judge).await;
    let auth = json!({"auth": {"owner": {"users": ["local:bob"], "groups": []}}});
    let made = server
        .send_json(&ann, "PUT", "/api/v1/teams/crew", &auth)
        .await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let rename = json!({"name": "main"});
    let refused = server
        .send_json(&ann, "PUT", "/api/v1/teams/crew/rename", &rename)
        .await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);
    let words = "namespace `ci-main` of cluster `c` names a team";
    assert!(refused.text.contains(words), "{}", refused.text);
}
