//! A panic while a connection is served ends that connection alone.

use std::sync::Arc;

use airside_hub::{AgentService, AgentWire};
use airside_protocol::{AGENT_PROTOCOL, AgentArrival, Join, PROTOCOL, ShimSays};
use async_trait::async_trait;

use crate::stand::{Stand, claimed, order};

/// A service for agents, with a fault.
struct Faulty;

#[async_trait]
impl AgentService for Faulty {
    async fn serve(&self, _: Join, _: AgentWire) {
        panic!("a fault of the test")
    }
}

#[tokio::test]
async fn hostile_a_panic_ends_one_connection() {
    let stand = Stand::new().await;
    stand.hub.admit_agents(Arc::new(Faulty));
    let _session = stand.attach();
    for _ in 0..3 {
        let mut peer = stand.dial().await;
        let join = Join {
            protocol: AGENT_PROTOCOL,
            shim_protocol: PROTOCOL,
            version: "0".to_owned(),
            name: "a".to_owned(),
            secret: "s".to_owned(),
            instance: "i".to_owned(),
            arrival: AgentArrival::Started,
            team: None,
            tags: Vec::new(),
        };
        peer.say(ShimSays::Join(Box::new(join))).await;
        assert_eq!(peer.hears_or_end().await, None);
    }
    let counted = airside_tasks::panics();
    let connections = counted.iter().find(|(task, _)| *task == "hub connection");
    assert!(
        connections.is_some_and(|(_, count)| *count >= 3),
        "{counted:?}"
    );
    let (_peer, answer) = stand.claim(stand.claim_by("first")).await;
    assert_eq!(claimed(answer).order, order());
}
