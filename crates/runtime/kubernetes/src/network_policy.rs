//! Hermetic steps where pods have no user namespace: their shim may not make a network of its own,
//! so a NetworkPolicy keeps the whole pod off the network, but for the hub.
//!
//! One policy for a target serves all its hermetic pods, which it finds by a label. It is made
//! before the first of them, and only ever made: another hub makes another policy, by another name.
//! This crate cannot find out whether the cluster's network enforces policies, so the worker says
//! that it must ([`warning`]).

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use airside_model::{InstallationId, WorkerName};
use airside_runtime::{Error, Lack, PlacementSpec};
use k8s_openapi::{
    api::networking::v1::{
        IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyPeer, NetworkPolicyPort,
        NetworkPolicySpec,
    },
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, ObjectMeta},
        util::intstr::IntOrString,
    },
};
use kube::{Api, Client, api::PostParams};
use sha2::{Digest as _, Sha256};
use tokio::{sync::Mutex, time::Instant};

use crate::{
    labels,
    refusal::{classify, unavailable},
    targets::{Offer, Target},
};

/// Time for which a policy that was there is taken to be there. An administrator may have removed
/// it; making it again shows that.
const TRUSTED: Duration = Duration::from_secs(60);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The policies of one target.
pub(crate) struct NetworkPolicies {
    policies: Api<NetworkPolicy>,
    installation: InstallationId,
    worker: WorkerName,
    hub_host: String,
    /// The policy that was last seen to be there. Locked while one is made.
    made: Mutex<Option<(String, Instant)>>,
}

impl NetworkPolicies {
    pub(crate) fn new(client: &Client, target: &Target, installation: &InstallationId) -> Self {
        Self {
            policies: Api::namespaced(client.clone(), &target.namespace),
            installation: installation.clone(),
            worker: target.name.clone(),
            hub_host: target.hub_host.clone(),
            made: Mutex::default(),
        }
    }

    /// Makes sure that a step's pod is held off the network from its first moment on, if this is
    /// how it is held.
    pub(crate) async fn for_step(
        &self,
        spec: &PlacementSpec,
        target: &Target,
    ) -> Result<(), Error> {
        if !holds(spec, target) {
            return Ok(());
        }
        let policy = policy(
            &self.installation,
            &self.worker,
            &self.hub_host,
            spec.claim.hub_port,
        );
        let name = policy.metadata.name.clone().unwrap_or_default();
        let mut made = self.made.lock().await;
        let there = |(known, at): &(String, Instant)| *known == name && at.elapsed() < TRUSTED;
        if made.as_ref().is_some_and(there) {
            return Ok(());
        }
        let doing = "cannot create the NetworkPolicy of hermetic steps";
        let how = PostParams::default();
        match tokio::time::timeout(REQUEST_TIMEOUT, self.policies.create(&how, &policy)).await {
            Err(_) => {
                let message = format!("{doing}: the API server does not answer");
                return Err(unavailable(&self.worker, message));
            }
            // Its name says what is in it.
            Ok(Err(kube::Error::Api(status))) if status.is_already_exists() => {}
            Ok(Err(error)) => return Err(classify(&self.worker, doing, &error)),
            Ok(Ok(_)) => {}
        }
        *made = Some((name, Instant::now()));
        Ok(())
    }
}

/// Returns true if a policy keeps this step's pod off the network.
pub(crate) fn holds(spec: &PlacementSpec, target: &Target) -> bool {
    spec.hermetic && target.host_users
}

/// Returns the remark for people on a target whose hermetic steps are held by a policy.
pub(crate) fn warning(target: &Target) -> Option<Lack> {
    let held = target.host_users && target.offers(Offer::Hermetic);
    held.then(|| Lack {
        shapes: Vec::new(),
        why: "hermetic steps are kept off the network by a NetworkPolicy only, as host_users: true gives up user \
              namespaces: the cluster's network plugin must enforce NetworkPolicies, which Airside cannot find out"
            .to_owned(),
    })
}

fn policy(
    installation: &InstallationId,
    worker: &WorkerName,
    hub_host: &str,
    hub_port: u16,
) -> NetworkPolicy {
    let ours = [
        (labels::INSTALLATION, installation.to_string()),
        (labels::WORKER, worker.to_string()),
    ];
    let ours = BTreeMap::from(ours.map(|(key, value)| (key.to_owned(), value)));
    let mut held = ours.clone();
    held.insert(labels::NETWORK.to_owned(), labels::HELD.to_owned());
    let identity = format!("{installation} {worker} {hub_host} {hub_port}");
    let digest = Sha256::digest(identity.as_bytes());
    let short: String = digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    NetworkPolicy {
        metadata: ObjectMeta {
            name: Some(format!("airside-hermetic-{short}")),
            labels: Some(ours),
            ..ObjectMeta::default()
        },
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(LabelSelector {
                match_labels: Some(held),
                match_expressions: None,
            }),
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            egress: Some(vec![to_hub(hub_host, hub_port)]),
            ingress: None,
        }),
    }
}

/// A hub by its name takes name servers too, and whatever address they give for it.
fn to_hub(host: &str, port: u16) -> NetworkPolicyEgressRule {
    let open = |protocol: &str, port: u16| NetworkPolicyPort {
        protocol: Some(protocol.to_owned()),
        port: Some(IntOrString::Int(port.into())),
        end_port: None,
    };
    let hub = open("TCP", port);
    match host.parse::<IpAddr>() {
        Ok(address) => {
            let bits = if address.is_ipv4() { 32 } else { 128 };
            let only = NetworkPolicyPeer {
                ip_block: Some(IPBlock {
                    cidr: format!("{address}/{bits}"),
                    except: None,
                }),
                ..NetworkPolicyPeer::default()
            };
            NetworkPolicyEgressRule {
                ports: Some(vec![hub]),
                to: Some(vec![only]),
            }
        }
        Err(_) => NetworkPolicyEgressRule {
            ports: Some(vec![hub, open("UDP", 53), open("TCP", 53)]),
            to: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(host: &str, port: u16) -> NetworkPolicy {
        let (installation, worker) = (InstallationId::new("inst-1"), WorkerName::new("cluster"));
        policy(&installation, &worker, host, port)
    }

    #[test]
    fn only_the_hub_is_reached() {
        let policy = made("10.0.0.7", 7777);
        insta::assert_snapshot!(serde_json::to_string_pretty(&policy).unwrap());
    }

    #[test]
    fn a_hub_by_its_name_takes_name_servers() {
        let egress = made("hub.example", 7777).spec.unwrap().egress.unwrap();
        let ports = egress[0].ports.as_ref().unwrap();
        let numbers: Vec<_> = ports
            .iter()
            .map(|port| port.port.clone().unwrap())
            .collect();
        assert_eq!(numbers, [7777, 53, 53].map(IntOrString::Int));
        assert_eq!(egress[0].to, None);
    }

    #[test]
    fn another_hub_is_another_policy() {
        let name = |host, port| made(host, port).metadata.name.unwrap();
        assert_eq!(name("10.0.0.7", 1), name("10.0.0.7", 1));
        assert_ne!(name("10.0.0.7", 1), name("10.0.0.7", 2));
        assert_ne!(name("10.0.0.7", 1), name("10.0.0.8", 1));
    }
}
