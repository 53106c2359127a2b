//! A real hub with its store and volumes, one placed step, and a peer that speaks the protocol by
//! hand.

mod tls;

use std::{sync::Arc, time::Duration};

use airside_hub::{Hub, HubIdentity, Parts, Proofs, Session, SessionEvent, Unproven, Work};
use airside_model::{Handle, PlanId, StepKind, StepLabels, VolumeId, WorkerName};
use airside_protocol::{
    Claim, Claimed, Executable, HubSays, Order, PROTOCOL, ShimSays, ToHub, ToShim, Transfer,
    codec::{self, Message},
};
use airside_store::{
    Container, NewBuild, NewPlacement, SaveJob, SavePipeline, Sealer, Store, WorkerKind,
};
use airside_volumes::Volumes;
use async_trait::async_trait;
use bytes::BytesMut;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

pub(crate) const TOKEN: &str = "the token of the step";
pub(crate) const OUTPUT: &str = "v-output";

pub(crate) struct Stand {
    pub(crate) hub: Hub,
    pub(crate) store: Store,
    pub(crate) volumes: Volumes,
    pub(crate) handle: Handle,
    pub(crate) dir: tempfile::TempDir,
    shutdown: CancellationToken,
}

struct TokenAlone;

#[async_trait]
impl Proofs for TokenAlone {
    async fn verify(&self, _: &Container, _: Option<&str>) -> Result<(), Unproven> {
        Ok(())
    }
}

impl Stand {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sealer = Sealer::new(&[0; 32]).unwrap();
        let store = Store::open(&dir.path().join("db"), sealer).await.unwrap();
        let volumes = Volumes::open(&dir.path().join("volumes")).unwrap();
        let handle = Handle::new("s-1");
        place(&store, &handle).await;
        let shutdown = CancellationToken::new();
        let parts = Parts {
            store: store.clone(),
            volumes: volumes.clone(),
            proofs: Arc::new(TokenAlone),
        };
        let identity = HubIdentity::load_or_create(&dir.path().join("key.pem")).unwrap();
        let address = "127.0.0.1:0".parse().unwrap();
        let hub = Hub::start(address, &identity, parts, shutdown.clone())
            .await
            .unwrap();
        Self {
            hub,
            store,
            volumes,
            handle,
            dir,
            shutdown,
        }
    }

    /// Drives the step, as the orchestrator would.
    pub(crate) fn attach(&self) -> Session {
        self.attach_with(order())
    }

    pub(crate) fn attach_with(&self, order: Order) -> Session {
        let work = Work {
            order,
            epoch: 1,
            output_received: 0,
            drops_output: false,
        };
        self.hub.attach(self.handle.clone(), work)
    }

    pub(crate) async fn dial(&self) -> Peer {
        self.try_dial().await.expect("the hub shakes hands")
    }

    /// A connection, unless the hub has no place for it.
    pub(crate) async fn try_dial(&self) -> Option<Peer> {
        let tcp = TcpStream::connect(("127.0.0.1", self.hub.port()))
            .await
            .unwrap();
        Some(Peer {
            stream: tls::connect(tcp).await.ok()?,
            buffer: BytesMut::new(),
        })
    }

    pub(crate) fn claim_by(&self, instance: &str) -> Claim {
        Claim {
            protocol: PROTOCOL,
            handle: self.handle.clone(),
            token: TOKEN.to_owned(),
            instance: instance.to_owned(),
            proof: None,
        }
    }

    /// Connects, claims, and gives the answer.
    pub(crate) async fn claim(&self, claim: Claim) -> (Peer, HubSays) {
        let mut peer = self.dial().await;
        peer.say(ShimSays::Claim(claim)).await;
        let answer = peer.hears().await;
        (peer, answer)
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

async fn place(store: &Store, handle: &Handle) {
    let team = store.ensure_main_team(&json!({})).await.unwrap();
    let pipeline = SavePipeline {
        instance_vars: Default::default(),
        team: team.id,
        name: "p".to_owned(),
        config: json!({}),
        jobs: vec![SaveJob::named("job")],
        resources: Vec::new(),
        expected_version: None,
    };
    let pipeline = store.save_pipeline(pipeline).await.unwrap().pipeline;
    let job = store.job(pipeline.id, "job").await.unwrap().unwrap();
    let build = store
        .create_build(NewBuild {
            job: job.id,
            created_by: None,
        })
        .await
        .unwrap();
    let minute = Duration::from_secs(60);
    let lease = store
        .take_build(build.id, "me", "here", minute)
        .await
        .unwrap()
        .unwrap();
    let worker = WorkerName::new("w");
    store
        .register_worker(&worker, None, &[], WorkerKind::Local)
        .await
        .unwrap();
    let labels = StepLabels {
        team: "main".to_owned(),
        team_id: airside_model::TeamId(1),
        pipeline: Some("p".to_owned()),
        job: Some("job".to_owned()),
        build: build.id,
        build_name: build.name,
        step: "step".to_owned(),
        kind: StepKind::Task,
        attempt: 1,
        attempts: Vec::new(),
    };
    let new = NewPlacement {
        handle,
        plan: &PlanId::new("1"),
        attempt: 1,
        placement: 1,
        worker: &worker,
        labels: &labels,
        token_hash: &Hub::token_hash(TOKEN),
        dir: "/work",
        user: "",
        request: &(),
    };
    store.create_placement(&lease, new).await.unwrap();
}

pub(crate) fn order() -> Order {
    Order {
        run: Executable::Path("program".to_owned()),
        args: Vec::new(),
        env: Vec::new(),
        dir: "/".to_owned(),
        user: None,
        tty: None,
        stdin: None,
        image: None,
        fetch: Vec::new(),
        make_dirs: Vec::new(),
        mounted: Vec::new(),
        hermetic: false,
        upload: vec![Transfer {
            volume: VolumeId::new(OUTPUT),
            path: "/out".to_owned(),
        }],
        fence_after_seconds: 60,
    }
}

/// The next event of a session, which must come.
pub(crate) async fn next(session: &mut Session) -> SessionEvent {
    let patience = Duration::from_secs(20);
    tokio::time::timeout(patience, session.next())
        .await
        .expect("an event comes")
}

/// One connection to the hub.
pub(crate) struct Peer {
    stream: TlsStream<TcpStream>,
    buffer: BytesMut,
}

impl Peer {
    pub(crate) async fn send(&mut self, message: ToHub) {
        self.stream.write_all(&message.encode()).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// Sends bytes that need not be a message.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    pub(crate) async fn say(&mut self, says: ShimSays) {
        self.send(ToHub::Control(says)).await;
    }

    /// The next word that is not a heartbeat, or none once the hub has closed the connection.
    pub(crate) async fn hears_or_end(&mut self) -> Option<HubSays> {
        loop {
            match codec::decode::<ToShim>(&mut self.buffer).unwrap() {
                Some(ToShim::Control(HubSays::Heartbeat)) => {}
                Some(ToShim::Control(says)) => return Some(says),
                Some(ToShim::Chunk(_)) => {}
                None => match self.stream.read_buf(&mut self.buffer).await {
                    Ok(0) | Err(_) => return None,
                    Ok(_) => {}
                },
            }
        }
    }

    pub(crate) async fn hears(&mut self) -> HubSays {
        self.hears_or_end().await.expect("the hub answers")
    }
}

#[track_caller]
pub(crate) fn claimed(answer: HubSays) -> Claimed {
    match answer {
        HubSays::Claimed(claimed) => *claimed,
        other => panic!("not claimed: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn refused(answer: HubSays) -> (String, bool) {
    match answer {
        HubSays::Refused { reason, retry } => (reason, retry),
        other => panic!("not refused: {other:?}"),
    }
}
