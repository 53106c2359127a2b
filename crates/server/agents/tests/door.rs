//! Agents at a real hub, some of them not what they say: the test speaks for the machine.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of it is tests")]

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use airside_agents::{AdmissionError, AgentOffer, AgentRuntime, Agents, WorkerRegister};
use airside_hub::{Hub, HubIdentity, Parts, Proofs, Unproven};
use airside_model::{Handle, WorkerName, WorkerState};
use airside_protocol::{
    AGENT_PROTOCOL, AgentArrival, Join, PROTOCOL, ShimSays, ToHub,
    codec::{self, Json, Message},
    pin,
};
use airside_runtime::{Cause, Observation, Observed, Runtime as _};
use airside_runtime_remote::{AgentMessage, RuntimeAnswer, RuntimeRequest, ServerMessage};
use airside_store::{Container, Sealer, Store, WorkerKind};
use airside_volumes::Volumes;
use async_trait::async_trait;
use bytes::BytesMut;
use futures::{FutureExt, StreamExt};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_util::sync::CancellationToken;

const TEST_TIMEOUT: Duration = Duration::from_secs(60);

struct House {
    hub: Hub,
    store: Store,
    agents: Agents,
    shutdown: CancellationToken,
    _dir: tempfile::TempDir,
}

struct NoProofs;

#[async_trait]
impl Proofs for NoProofs {
    async fn verify(&self, _: &Container, _: Option<&str>) -> Result<(), Unproven> {
        Ok(())
    }
}

struct Anybody(Store);

#[async_trait]
impl WorkerRegister for Anybody {
    async fn admit(
        &self,
        offer: &AgentOffer,
        _: AgentArrival,
    ) -> Result<WorkerState, AdmissionError> {
        let kind = WorkerKind::Agent;
        let registered = self.0.register_worker(offer.worker(), None, &[], kind);
        registered.await.map_err(|_| AdmissionError::Unable)
    }
}

impl House {
    async fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sealer = Sealer::new(&[7; 32]).unwrap();
        let store = Store::open(&dir.path().join("airside.db"), sealer)
            .await
            .unwrap();
        let parts = Parts {
            store: store.clone(),
            volumes: Volumes::open(&dir.path().join("volumes")).unwrap(),
            proofs: Arc::new(NoProofs),
        };
        let identity = HubIdentity::load_or_create(&dir.path().join("key")).unwrap();
        let shutdown = CancellationToken::new();
        let address = (Ipv4Addr::LOCALHOST, 0).into();
        let hub = Hub::start(address, &identity, parts, shutdown.clone())
            .await
            .unwrap();
        let (agents, _) = Agents::open(store.clone(), TEST_TIMEOUT).await.unwrap();
        Self {
            hub,
            store,
            agents,
            shutdown,
            _dir: dir,
        }
    }

    /// Agents are let in from now on, and `far` has a token whose secret is `s`.
    async fn admit(&self) {
        let register = Arc::new(Anybody(self.store.clone()));
        self.hub.admit_agents(self.agents.door(register));
        let hash = Hub::token_hash("s");
        let saved = self.store.save_agent_token("far", None, &[], &hash);
        saved.await.unwrap();
    }

    async fn join(&self, join: Join) -> (Far, ServerMessage) {
        let tcp = TcpStream::connect(self.hub.address()).await.unwrap();
        let name = "hub".try_into().unwrap();
        let tls = TlsConnector::from(pin::client(self.hub.pin()));
        let mut far = Far {
            stream: tls.connect(name, tcp).await.unwrap(),
            buffer: BytesMut::new(),
        };
        let hello = ToHub::Control(ShimSays::Join(Box::new(join)));
        far.stream.write_all(&hello.encode()).await.unwrap();
        let answer = far.hear().await;
        (far, answer)
    }

    /// The agent `far`, once it can be asked.
    async fn connected(&self) -> Arc<AgentRuntime> {
        let runtime = self.agents.runtime(&WorkerName::new("far"));
        let mut condition = runtime.condition().unwrap();
        let well = condition.wait_for(|now| now.stalled.is_none());
        timeout(TEST_TIMEOUT, well).await.unwrap().unwrap();
        runtime
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// The agent's end, by hand.
struct Far {
    stream: TlsStream<TcpStream>,
    buffer: BytesMut,
}

impl Far {
    async fn hear(&mut self) -> ServerMessage {
        let heard = async {
            loop {
                match codec::decode(&mut self.buffer).unwrap() {
                    Some(Json(ServerMessage::Heartbeat)) => {}
                    Some(Json(said)) => return said,
                    None => {
                        let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
                        assert_ne!(read, 0, "the hub has ended it");
                    }
                }
            }
        };
        timeout(TEST_TIMEOUT, heard).await.unwrap()
    }

    async fn say(&mut self, says: AgentMessage) {
        self.stream.write_all(&Json(says).encode()).await.unwrap();
    }
}

fn join() -> Join {
    Join {
        protocol: AGENT_PROTOCOL,
        shim_protocol: PROTOCOL,
        version: "0".to_owned(),
        name: "far".to_owned(),
        secret: "s".to_owned(),
        instance: "i".to_owned(),
        arrival: AgentArrival::Started,
        team: None,
        tags: Vec::new(),
    }
}

fn refused(answer: &ServerMessage) -> (&str, bool) {
    match answer {
        ServerMessage::Refused { reason, retry } => (reason, *retry),
        other => panic!("a refusal, not {other:?}"),
    }
}

#[tokio::test]
async fn who_is_not_let_in_is_told_why() {
    let house = House::open().await;
    let (_, early) = house.join(join()).await;
    assert!(refused(&early).1, "the server is only starting");
    house.admit().await;
    let change = |change: fn(&mut Join)| {
        let mut join = join();
        change(&mut join);
        join
    };
    for (join, words) in [
        (change(|join| join.protocol = 99), "speaks protocol 99"),
        (change(|join| join.shim_protocol = 99), "speak protocol 99"),
        (change(|join| join.secret = "t".into()), "is not valid"),
        (change(|join| join.name = "near".into()), "is not valid"),
        (change(|join| join.name = "../x".into()), "no token is for"),
        (change(|join| join.team = Some("x".into())), "team `x`"),
        (change(|join| join.tags = vec!["x".into()]), "tag `x`"),
    ] {
        let (_, answer) = house.join(join).await;
        let (reason, retry) = refused(&answer);
        assert!(reason.contains(words) && !retry, "{reason}");
    }
    let (_far, answer) = house.join(join()).await;
    assert!(
        matches!(answer, ServerMessage::Welcome { .. }),
        "{answer:?}"
    );
    house.connected().await;
    let (_, second) = house.join(change(|join| join.instance = "j".into())).await;
    let (reason, retry) = refused(&second);
    assert!(
        reason.contains("another agent is connected") && retry,
        "{reason}"
    );
}

#[tokio::test]
async fn an_agents_word_counts_for_its_own_containers_alone() {
    let house = House::open().await;
    house.admit().await;
    let (mut far, _) = house.join(join()).await;
    let runtime = house.connected().await;
    let listing = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.list().await }
    });
    far.say(AgentMessage::Saw {
        observation: Observation {
            handle: Handle::new("s-anothers"),
            observed: Observed::Gone {
                node: None,
                reason: "so it says".to_owned(),
                cause: Cause::Other,
            },
        },
    })
    .await;
    let ServerMessage::Ask { id, ask } = far.hear().await else {
        panic!("it is asked what is there");
    };
    assert!(matches!(ask, RuntimeRequest::List));
    let answer = RuntimeAnswer::Listed(vec![(Handle::new("s-nobodys"), None)]);
    far.say(AgentMessage::Answer { id, answer }).await;
    let listed = listing.await.unwrap().unwrap();
    assert_eq!(listed.len(), 1, "the sweeper hears of what nobody knows");
    // It said so before it answered.
    let seen = runtime.observe().next().now_or_never();
    assert_eq!(seen, None, "nobody hears what it says of another's");
}

#[tokio::test]
async fn who_is_gone_cannot_be_asked() {
    let house = House::open().await;
    house.admit().await;
    let (far, _) = house.join(join()).await;
    let runtime = house.connected().await;
    let asking = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.list().await }
    });
    drop(far);
    let unanswered = timeout(TEST_TIMEOUT, asking).await.unwrap();
    let error = unanswered.unwrap().unwrap_err().to_string();
    assert_eq!(error, "far: its agent is not connected");
    let mut condition = runtime.condition().unwrap();
    let stalled = condition.wait_for(|now| now.stalled.is_some());
    timeout(TEST_TIMEOUT, stalled).await.unwrap().unwrap();
}
