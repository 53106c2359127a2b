use airside_model::BuildId;
use airside_store::{NewBuild, testing::TestDatabase};

use super::*;
use crate::{
    FlyMode,
    testing::{ScriptedJudge, pipeline_object},
};

type Result<T, E = SetPipelineError> = std::result::Result<T, E>;

fn object(name: &str) -> PipelineObject {
    pipeline_object("ci-main", name)
}

struct Stage {
    store: Store,
    team: Team,
    judge: Arc<ScriptedJudge>,
    setter: PipelineSetter,
    _database: TestDatabase,
}

async fn stage(mode: Option<FlyMode>, answer: Result<(), JudgeError>) -> Stage {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    let team = store
        .ensure_main_team(&serde_json::json!({}))
        .await
        .unwrap();
    let judge = Arc::new(ScriptedJudge::new(mode, answer));
    Stage {
        setter: PipelineSetter::new(store.clone()).with_judge(judge.clone()),
        store,
        team,
        judge,
        _database: database,
    }
}

const PIPELINE: &str = "resources: [{name: r, type: mock}]\n\
    jobs: [{name: j, plan: [{get: r}, {try: {task: t, privileged: true, file: r/t.yml}}]}]";

fn config(text: &str) -> Config {
    airside_config::load(text).unwrap().config
}

impl Stage {
    async fn set(&self, text: &str, object: Option<&PipelineObject>) -> Result<Saved> {
        let (vars, config) = (InstanceVars::default(), config(text));
        let through = match object {
            Some(_) => SetThrough::Object,
            None => SetThrough::Fly,
        };
        let set = SetPipeline {
            object,
            through,
            ..self.fly(&vars, &config)
        };
        self.setter.set(set).await
    }

    fn fly<'a>(&'a self, vars: &'a InstanceVars, config: &'a Config) -> SetPipeline<'a> {
        SetPipeline {
            team: self.team.id,
            team_name: &self.team.name,
            name: "p",
            instance_vars: vars,
            config,
            through: SetThrough::Fly,
            by: "ann",
            expected_version: None,
            parent: None,
            object: None,
        }
    }

    fn asked(&self) -> Vec<String> {
        self.judge.take_asked()
    }

    async fn summary(&self) -> Option<PipelineSummary> {
        let vars = InstanceVars::default();
        let found = self.store.pipeline_summary(self.team.id, "p", &vars);
        found.await.unwrap()
    }

    async fn owner(&self) -> Option<PipelineObject> {
        let id = self.summary().await?.id;
        self.store.pipeline_object(id).await.unwrap()
    }
}

const JUDGED: &str = "judge main/p of 2 steps by ann";

#[tokio::test]
async fn what_a_judge_refuses_is_not_saved() {
    let unavailable = || JudgeError::Unavailable {
        cluster: "c".into(),
    };
    let refused = || JudgeError::Refused("tasks may not be privileged here".into());
    for (error, words) in [
        (refused(), "tasks may not be privileged here"),
        (
            unavailable(),
            "cluster c, which judges pipelines of this team, does not answer",
        ),
    ] {
        let stage = stage(Some(FlyMode::Judge), Err(error)).await;
        let first = object("app");
        for object in [None, Some(&first)] {
            let error = stage.set(PIPELINE, object).await.unwrap_err();
            assert_eq!(error.to_string(), words);
            assert_eq!(stage.asked(), [JUDGED]);
            assert_eq!(stage.summary().await, None);
        }
    }
}

#[tokio::test]
async fn each_mode_asks_what_it_has_to() {
    for (mode, expected) in [
        (None, Some(&[][..])),
        (Some(FlyMode::Store), Some(&[][..])),
        (Some(FlyMode::Judge), Some(&[JUDGED][..])),
        (Some(FlyMode::Proxy), Some(&["apply p for ann"][..])),
        (Some(FlyMode::Refuse), None),
    ] {
        let stage = stage(mode, Ok(())).await;
        let set = stage.set(PIPELINE, None).await;
        assert_eq!(set.is_ok(), expected.is_some(), "{mode:?}");
        assert_eq!(stage.asked(), expected.unwrap_or_default(), "{mode:?}");
        let owner = stage.owner().await.map(|owner| owner.name);
        let expected = (mode == Some(FlyMode::Proxy)).then(|| "applied".to_owned());
        assert_eq!(owner, expected);
    }
}

#[tokio::test]
async fn an_object_takes_a_pipeline_over_and_holds_it() {
    let stage = stage(Some(FlyMode::Judge), Ok(())).await;
    stage.set(PIPELINE, None).await.unwrap();
    let first = object("app");
    stage.set(PIPELINE, Some(&first)).await.unwrap();
    assert_eq!(stage.owner().await, Some(first));
    stage.asked();

    let owned = "pipeline p is set by pipeline.ci.airside.dev/app in ci-main; change it there";
    let error = stage.set(PIPELINE, None).await.unwrap_err();
    assert_eq!(error.to_string(), owned);
    let (vars, config) = (InstanceVars::default(), config(PIPELINE));
    let checked = stage.setter.check_route(&stage.fly(&vars, &config)).await;
    assert_eq!(checked.unwrap_err().to_string(), owned);
    assert!(stage.asked().is_empty(), "nothing is judged for a refusal");

    let pipeline = stage.summary().await.unwrap();
    for change in [PipelineChange::Archive, PipelineChange::Destroy] {
        let permitted = stage.setter.permit_change(&pipeline, change).await;
        let words = permitted.unwrap_err().to_string();
        assert!(
            words.starts_with("pipeline p is set by pipeline"),
            "{words}"
        );
    }
    let pause = PipelineChange::Pause;
    stage.setter.permit_change(&pipeline, pause).await.unwrap();
    stage
        .setter
        .permit_rename(&stage.team, "p")
        .await
        .unwrap_err();
    stage.setter.permit_rename(&stage.team, "q").await.unwrap();
}

/// The owner is read before the judge is asked, which may take a while.
#[tokio::test]
async fn an_object_that_comes_while_a_judge_thinks_wins() {
    let stage = stage(Some(FlyMode::Judge), Ok(())).await;
    let (vars, config) = (InstanceVars::default(), config(PIPELINE));
    let set = stage.fly(&vars, &config);
    let prepared = stage.setter.prepare(&set).await.unwrap();
    let first = object("app");
    stage.set(PIPELINE, Some(&first)).await.unwrap();
    let error = stage.setter.save(set, prepared).await.unwrap_err();
    let words = "pipeline p is set by pipeline.ci.airside.dev/app in ci-main; change it there";
    assert!(matches!(&error, SetPipelineError::Refused(refused) if refused == words));
}

#[tokio::test]
async fn what_another_place_set_is_taken_back() {
    let stage = stage(Some(FlyMode::Store), Ok(())).await;
    let elsewhere = PipelineObject {
        namespace: "ci-old".into(),
        ..object("app")
    };
    stage.set(PIPELINE, Some(&elsewhere)).await.unwrap();
    stage.set(PIPELINE, None).await.unwrap();
    assert_eq!(stage.owner().await, None);
}

#[tokio::test]
async fn a_proxy_applies_nothing_that_cannot_stay() {
    let stage = stage(Some(FlyMode::Proxy), Ok(())).await;
    stage.set(PIPELINE, None).await.unwrap();
    stage.asked();
    let (vars, config) = (InstanceVars::default(), config(PIPELINE));
    let stale = SetPipeline {
        expected_version: Some(0),
        ..stage.fly(&vars, &config)
    };
    let error = stage.setter.set(stale).await.unwrap_err();
    assert!(matches!(
        error,
        SetPipelineError::Store(airside_store::Error::ConfigVersion { .. })
    ));
    let secret = PIPELINE.replace("mock}", "mock, source: {password: s3cret}}");
    let words = stage.set(&secret, None).await.unwrap_err().to_string();
    assert!(words.contains("resources.r.source.password"), "{words}");
    assert!(!words.contains("s3cret"), "{words}");
    assert!(stage.asked().is_empty());

    let pipeline = stage.summary().await.unwrap();
    let destroy = PipelineChange::Destroy;
    stage
        .setter
        .permit_change(&pipeline, destroy)
        .await
        .unwrap();
    assert_eq!(stage.asked(), ["delete applied of main"]);
}

#[tokio::test]
async fn a_step_rehearses_before_it_applies() {
    let stage = stage(Some(FlyMode::Proxy), Ok(())).await;
    let (vars, config) = (InstanceVars::default(), config(PIPELINE));
    let save = save_request(stage.team.id, "outer", &vars, &config, None).unwrap();
    let outer = stage.store.save_pipeline(save).await.unwrap().pipeline.id;
    let job = stage.store.jobs(outer).await.unwrap()[0].id;
    let new = NewBuild {
        job,
        created_by: None,
    };
    let build: BuildId = stage.store.create_build(new).await.unwrap().id;
    let set = SetPipeline {
        through: SetThrough::Step,
        parent: Some(Parent { job, build }),
        ..stage.fly(&vars, &config)
    };
    let prepared = stage.setter.prepare(&set).await.unwrap();
    assert_eq!(stage.asked(), [JUDGED]);
    let saved = stage.setter.save(set, prepared).await.unwrap();
    assert_eq!(stage.asked(), ["apply p for ann"]);
    let parent = stage.store.pipeline_parent(saved.pipeline.id).await;
    assert_eq!(parent.unwrap(), set.parent);
}

#[tokio::test]
async fn what_is_too_large_to_be_judged_is_refused() {
    let mut config = config(PIPELINE);
    config.resources[0].type_ = "x".repeat(airside_config::MAX_FACTS_BYTES);
    let vars = InstanceVars::default();
    for (mode, is_set) in [(FlyMode::Judge, false), (FlyMode::Store, true)] {
        let stage = stage(Some(mode), Ok(())).await;
        let set = stage.setter.set(stage.fly(&vars, &config)).await;
        assert_eq!(set.is_ok(), is_set);
    }
}
