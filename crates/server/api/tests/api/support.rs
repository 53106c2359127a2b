//! A real server on a real socket, over a real store and log.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use airside_api::{
    AbortError, ApiState, Blocking, Builds, Entrance, OneOffBuild, Preparation, Prepared,
    TriggerError, TrustedProxies, router, serve,
};
use airside_auth::Auth;
use airside_identity_providers::Connectors;
use airside_limits::{Files, Places};
use airside_logs::Logs;
use airside_model::{BuildId, JobId};
use airside_secrets::{Credentials, IdTokens, Installation, Rotation};
use airside_setting::{Judge, PipelineSetter};
use airside_store::{Build, DatabaseTimeout, NewBuild, OneOff, Store, testing::TestDatabase};
use airside_volumes::Volumes;
use axum::body::{Body, to_bytes};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const USERS: [&str; 7] = [
    "ann", "bob", "viewer", "operator", "member", "owner", "other",
];

pub(crate) const TP: &str = "/api/v1/teams/main/pipelines/p";

/// One job that needs nothing, one that every visitor may see, one that refuses to be triggered.
pub(crate) const PIPELINE: &str = "
resources:
- {name: r, type: mock, source: {}}
jobs:
- {name: hello, plan: [{get: r}]}
- {name: open, public: true, plan: [{get: r}]}
- {name: manual, disable_manual_trigger: true, plan: [{get: r}]}
";

/// Builds are created and marked, and no engine runs them.
struct Recorded(Store, Arc<AtomicBool>);

/// Returns the secrets of the installation's manager.
fn installed() -> serde_json::Map<String, Value> {
    serde_json::Map::from_iter([("main/installed".to_owned(), json!("hunter2"))])
}

#[async_trait::async_trait]
impl Builds for Recorded {
    async fn trigger(&self, job: JobId, created_by: &str) -> Result<Build, TriggerError> {
        Ok(self
            .0
            .create_build(NewBuild {
                job,
                created_by: Some(created_by),
            })
            .await?)
    }

    async fn rerun(&self, build: &Build, created_by: &str) -> Result<Build, TriggerError> {
        Ok(self.0.create_rerun(build, created_by).await?)
    }

    async fn start(&self, build: OneOffBuild<'_>) -> Result<Build, TriggerError> {
        let one_off = OneOff {
            team: build.team,
            pipeline: build.pipeline,
            created_by: Some(build.created_by),
            plan: &build.plan,
        };
        Ok(self.0.create_one_off(one_off).await?)
    }

    async fn abort(&self, build: BuildId) -> Result<(), AbortError> {
        Ok(self.0.request_abort(build).await?)
    }

    /// The pipeline is paused, and the first input has no version.
    async fn preparation(&self, build: BuildId) -> Option<Prepared> {
        assert!(
            !self.1.load(Ordering::Relaxed),
            "a fault of the test, with a secret word"
        );
        Some(Prepared {
            preparation: Preparation {
                paused_pipeline: Blocking::Yes,
                ..Preparation::nothing_blocks(build)
            },
            inputs: vec![("r".into(), Some("why not".into())), ("s".into(), None)],
        })
    }
}

pub(crate) struct Server {
    pub(crate) store: Store,
    pub(crate) logs: Logs,
    pub(crate) address: SocketAddr,
    pub(crate) shutdown: CancellationToken,
    pub(crate) served: JoinHandle<std::io::Result<()>>,
    client: Client<HttpConnector, Body>,
    pub(crate) database: TestDatabase,
    /// Preparations of builds panic while this is set.
    pub(crate) is_faulty: Arc<AtomicBool>,
}

/// A response that has arrived whole.
pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl TestResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_on(TestDatabase::sqlite()).await
    }

    /// A server behind a proxy on this machine, which it trusts.
    ///
    /// `ann` owns the main team; the others belong nowhere, until a test says so. All have the
    /// password `pw`.
    pub(crate) async fn start_on(database: TestDatabase) -> Self {
        Self::start_patiently(database, DatabaseTimeout::default()).await
    }

    pub(crate) async fn start_patiently(database: TestDatabase, patience: DatabaseTimeout) -> Self {
        Self::start_whole(database, patience, Connectors::default(), None).await
    }

    /// With a cluster that has a word about pipelines.
    pub(crate) async fn start_judged(judge: Arc<dyn Judge>) -> Self {
        let (database, patience) = (TestDatabase::sqlite(), DatabaseTimeout::default());
        Self::start_whole(database, patience, Connectors::default(), Some(judge)).await
    }

    /// Starts a server with users from outside.
    pub(crate) async fn start_with(connectors: Connectors) -> Self {
        let (database, patience) = (TestDatabase::sqlite(), DatabaseTimeout::default());
        Self::start_whole(database, patience, connectors, None).await
    }

    async fn start_whole(
        database: TestDatabase,
        patience: DatabaseTimeout,
        connectors: Connectors,
        judge: Option<Arc<dyn Judge>>,
    ) -> Self {
        let store = database.open_patiently(patience).await;
        let dir = database.dir();
        let members = json!({"owner": {"users": ["local:ann"], "groups": []}});
        store.ensure_main_team(&members).await.unwrap();
        let users = USERS
            .map(|user| format!("{user}:pw").parse().unwrap())
            .to_vec();
        let providers = connectors.providers();
        let day = Duration::from_secs(86400);
        let auth = Auth::with_providers(store.clone(), users, providers, day);
        let logs = Logs::open(&dir.join("logs")).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let is_faulty = Arc::new(AtomicBool::new(false));
        let builds = Arc::new(Recorded(store.clone(), is_faulty.clone()));
        let url = format!("http://{address}/");
        let pipelines = PipelineSetter::new(store.clone());
        let pipelines = match judge {
            Some(judge) => pipelines.with_judge(judge),
            None => pipelines,
        };
        let state = ApiState::new(
            store.clone(),
            auth,
            builds,
            logs.clone(),
            Default::default(),
            &url,
            "0.1.0",
        )
        .with_connectors(connectors)
        .with_pipelines(pipelines)
        .with_credentials(Credentials::new(airside_secrets::Options {
            installation: Some(Installation::dummy(installed())),
            ..airside_secrets::Options::default()
        }))
        .with_id_tokens(IdTokens::new(store.clone(), &url, Rotation::default()))
        .with_volumes(Volumes::open(&dir.join("volumes")).unwrap())
        .with_cli_dir(Some(dir.join("cli")));
        tokio::spawn(state.live.clone().run());
        let shutdown = CancellationToken::new();
        let places = Places::new(Files::now().connections());
        let proxies = vec!["127.0.0.1".parse().unwrap()];
        let entrance = Entrance {
            proxies: TrustedProxies::new(proxies, places.limits()),
            places,
        };
        let served = tokio::spawn(serve(
            listener,
            None,
            router(state),
            entrance,
            shutdown.clone(),
        ));
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self {
            store,
            logs,
            address,
            shutdown,
            served,
            client,
            database,
            is_faulty,
        }
    }

    pub(crate) async fn send(&self, mut request: Request<Body>) -> Response<Body> {
        let url = format!("http://{}{}", self.address, request.uri());
        *request.uri_mut() = url.parse().unwrap();
        self.client.request(request).await.unwrap().map(Body::new)
    }

    pub(crate) async fn ask(&self, request: Request<Body>) -> TestResponse {
        let (head, body) = self.send(request).await.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.into()).unwrap();
        TestResponse {
            status: head.status,
            headers: head.headers,
            text,
        }
    }

    /// Nothing if the server closed the connection before it had everything.
    pub(crate) async fn try_ask(&self, mut request: Request<Body>) -> Option<TestResponse> {
        let url = format!("http://{}{}", self.address, request.uri());
        *request.uri_mut() = url.parse().unwrap();
        let (head, body) = self
            .client
            .request(request)
            .await
            .ok()?
            .map(Body::new)
            .into_parts();
        let bytes = to_bytes(body, usize::MAX).await.ok()?;
        Some(TestResponse {
            status: head.status,
            headers: head.headers,
            text: String::from_utf8(bytes.into()).unwrap(),
        })
    }

    pub(crate) async fn call(&self, token: Option<&str>, method: &str, path: &str) -> TestResponse {
        self.ask(request(token, method, path).body(Body::empty()).unwrap())
            .await
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> TestResponse {
        self.call(Some(token), "GET", path).await
    }

    pub(crate) async fn put(&self, token: &str, path: &str) -> TestResponse {
        self.call(Some(token), "PUT", path).await
    }

    /// Sends JSON.
    pub(crate) async fn send_json(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> TestResponse {
        let request = request(Some(token), method, path).header("content-type", "application/json");
        self.ask(request.body(Body::from(body.to_string())).unwrap())
            .await
    }

    pub(crate) async fn login(&self, name: &str) -> String {
        let form = format!("grant_type=password&username={name}&password=pw&scope=openid+groups");
        let answer = self.ask(grant(Some("fly:Zmx5"), form)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()["access_token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn set_pipeline(
        &self,
        token: &str,
        version: &str,
        config: &str,
    ) -> TestResponse {
        let request = request(Some(token), "PUT", &format!("{TP}/config"))
            .header("content-type", "application/x-yaml")
            .header("x-concourse-config-version", version);
        self.ask(request.body(Body::from(config.to_owned())).unwrap())
            .await
    }

    pub(crate) async fn trigger(&self, token: &str, job: &str) -> TestResponse {
        self.call(Some(token), "POST", &format!("{TP}/jobs/{job}/builds"))
            .await
    }

    /// A server with the pipeline set and a build of its first job; and ann's token.
    pub(crate) async fn with_build() -> (Self, String, BuildId) {
        Self::with_build_on(TestDatabase::sqlite()).await
    }

    pub(crate) async fn with_build_on(database: TestDatabase) -> (Self, String, BuildId) {
        let server = Self::start_on(database).await;
        let token = server.login("ann").await;
        assert_eq!(
            server.set_pipeline(&token, "", PIPELINE).await.status,
            StatusCode::CREATED
        );
        let build = server.trigger(&token, "hello").await.json()["id"]
            .as_i64()
            .unwrap();
        (server, token, BuildId(build))
    }
}

pub(crate) fn request(token: Option<&str>, method: &str, path: &str) -> http::request::Builder {
    let builder = Request::builder()
        .method(method.parse::<Method>().unwrap())
        .uri(path);
    match token {
        Some(token) => builder.header("authorization", format!("Bearer {token}")),
        None => builder,
    }
}

pub(crate) fn grant(client: Option<&str>, form: String) -> Request<Body> {
    let mut builder = Request::builder()
        .method("POST")
        .uri("/sky/issuer/token")
        .header("content-type", "application/x-www-form-urlencoded");
    if let Some(client) = client {
        builder = builder.header(
            "authorization",
            format!("Basic {}", STANDARD.encode(client)),
        );
    }
    builder.body(Body::from(form)).unwrap()
}
