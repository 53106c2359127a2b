//! The way to an API server: address, trust, and who asks.

use std::{
    fs,
    io::Read,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use airside_blocking_http::{Tls, Trust};

use super::{kubeconfig, settings::Credentials};
use crate::Failure;

/// Folder in which a pod has its service account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Longest token or certificate that is read from a file.
const MAX_FILE: u64 = 1 << 20;

/// Says that this process is a step's own, whose pod may have a service account for it.
static IS_STEP: AtomicBool = AtomicBool::new(false);

/// Lets sources without credentials use the service account of the pod. Only the program of a
/// step's own container may call it: the account of any other process is the administrator's.
pub(crate) fn trust_service_account() {
    IS_STEP.store(true, Ordering::Relaxed);
}

/// Address of an API server, and the identity for it.
#[derive(Clone, Debug)]
pub(super) struct ClusterAccess {
    /// Without a slash at the end.
    pub(super) server: String,
    pub(super) tls: Tls,
    pub(super) token: AccessToken,
    /// The namespace of objects that name none.
    pub(super) namespace: Option<String>,
}

/// The token that requests carry.
#[derive(Clone)]
pub(super) enum AccessToken {
    /// A certificate says who asks.
    Absent,
    Text(String),
    /// A file of the pod, which the kubelet renews.
    ServiceAccount,
}

impl std::fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Absent => "Absent",
            Self::Text(_) => "Text(..)",
            Self::ServiceAccount => "ServiceAccount",
        })
    }
}

impl AccessToken {
    /// Returns the token as it is now: one of a file is read each time, since it is renewed.
    pub(super) fn current(&self) -> Result<Option<String>, Failure> {
        match self {
            Self::Absent => Ok(None),
            Self::Text(token) => Ok(Some(token.clone())),
            Self::ServiceAccount => account_file("token").map(Some),
        }
    }
}

impl ClusterAccess {
    pub(super) fn new(credentials: &Credentials) -> Result<Self, Failure> {
        match credentials {
            Credentials::Kubeconfig(config) => kubeconfig::access(config),
            Credentials::Token {
                server,
                certificate_authority,
                token,
            } => Ok(Self {
                server: server.clone(),
                tls: trusting(certificate_authority.clone()),
                token: AccessToken::Text(token.clone()),
                namespace: None,
            }),
            Credentials::ServiceAccount => of_this_pod(),
        }
    }
}

/// Returns settings of TLS that trust one authority, or the machine's where none is given.
pub(super) fn trusting(authority: Option<String>) -> Tls {
    let trust = authority.map_or(Trust::Public, |authority| Trust::Only(vec![authority]));
    Tls {
        trust,
        ..Tls::default()
    }
}

/// Returns the access that a pod rule has given to the step's pod.
fn of_this_pod() -> Result<ClusterAccess, Failure> {
    if !IS_STEP.load(Ordering::Relaxed) || !Path::new(ACCOUNT).join("token").exists() {
        return Err(Failure::said(
            "there are no credentials for the cluster: give the source a kubeconfig, or a server with a token, or give \
             this step's pod a service account by a pod rule of the target",
        ));
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let host = variable("KUBERNETES_SERVICE_HOST");
    let port = variable("KUBERNETES_SERVICE_PORT").unwrap_or_else(|| "443".to_owned());
    let server = match host {
        Some(host) if host.contains(':') => format!("https://[{host}]:{port}"),
        Some(host) => format!("https://{host}:{port}"),
        None => "https://kubernetes.default.svc".to_owned(),
    };
    Ok(ClusterAccess {
        server,
        tls: trusting(Some(account_file("ca.crt")?)),
        token: AccessToken::ServiceAccount,
        namespace: account_file("namespace")
            .ok()
            .filter(|name| !name.is_empty()),
    })
}

fn account_file(name: &str) -> Result<String, Failure> {
    let path = Path::new(ACCOUNT).join(name);
    let mut text = String::new();
    let file = fs::File::open(&path).map_err(Failure::io(&path))?;
    let read = file.take(MAX_FILE).read_to_string(&mut text);
    read.map_err(Failure::io(&path))?;
    Ok(text.trim().to_owned())
}
