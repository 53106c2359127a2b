//! From the fields of a file's entry to a client of the cluster. No request is made: a cluster that
//! is away at a start is simply away for a while.

use std::path::{Path, PathBuf};

use kube::{
    Client, Config,
    client::ClientBuilder,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};

use crate::{Rate, RateLayer};

/// The way to a cluster: a kubeconfig, a context, or a service account. With no field it is the
/// service account of the pod that the program runs in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterAccess {
    pub kubeconfig: Option<PathBuf>,
    pub context: Option<String>,
    /// A folder with `token` and `ca.crt`, as pods have one of their service account.
    pub service_account: Option<PathBuf>,
    /// Address of the API server, for `service_account`; where absent, the pod's environment names
    /// it.
    pub api_server: Option<String>,
}

/// Fields of an entry that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessMistake {
    #[error("service_account: there is a kubeconfig or context too; leave one out")]
    TwoAccounts,
    #[error("api_server: the kubeconfig says where the API server is; leave one out")]
    TwoServers,
    #[error("api_server: {0:?} is not a URL such as https://10.0.0.1:6443")]
    NoUrl(String),
}

/// A client that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("the kubeconfig {} cannot be used", file.display())]
    Kubeconfig {
        file: PathBuf,
        source: Box<KubeconfigError>,
    },
    #[error("no context {context:?} in the kubeconfig that kubectl would use")]
    Context {
        context: String,
        source: Box<KubeconfigError>,
    },
    #[error("not running in a pod with a service account; set kubeconfig or context")]
    InCluster(#[source] Box<kube::config::InClusterError>),
    #[error("the service account's file {} cannot be read", file.display())]
    Account {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "the address of the API server is not known: set api_server, or run in a pod (which has \
         KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT)"
    )]
    Nowhere,
    #[error("no client can be made for the cluster")]
    Client(#[source] Box<kube::Error>),
}

impl ClusterAccess {
    /// Returns the first contradiction among the fields.
    pub fn check(&self) -> Result<(), AccessMistake> {
        let by_kubeconfig = self.kubeconfig.is_some() || self.context.is_some();
        if self.service_account.is_some() && by_kubeconfig {
            return Err(AccessMistake::TwoAccounts);
        }
        let Some(server) = &self.api_server else {
            return Ok(());
        };
        if by_kubeconfig {
            return Err(AccessMistake::TwoServers);
        }
        let url = server.parse::<http::Uri>();
        if !url.is_ok_and(|url| url.scheme_str() == Some("https") && url.host().is_some()) {
            return Err(AccessMistake::NoUrl(server.clone()));
        }
        Ok(())
    }

    /// Makes a client that keeps to a rate. Needs a tokio runtime around it.
    pub async fn client(&self, rate: Rate) -> Result<Client, ConnectError> {
        let config = self.config().await?;
        let builder = ClientBuilder::try_from(config);
        let builder = builder.map_err(|source| ConnectError::Client(Box::new(source)))?;
        Ok(builder.with_layer(&RateLayer(rate)).build())
    }

    async fn config(&self) -> Result<Config, ConnectError> {
        if self.service_account.is_some() || self.api_server.is_some() {
            return self.account_config().await;
        }
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..Default::default()
        };
        match (&self.kubeconfig, &self.context) {
            (Some(file), _) => {
                read(file, &options)
                    .await
                    .map_err(|source| ConnectError::Kubeconfig {
                        file: file.clone(),
                        source: Box::new(source),
                    })
            }
            (None, Some(context)) => {
                Config::from_kubeconfig(&options)
                    .await
                    .map_err(|source| ConnectError::Context {
                        context: context.clone(),
                        source: Box::new(source),
                    })
            }
            (None, None) => {
                Config::incluster().map_err(|source| ConnectError::InCluster(Box::new(source)))
            }
        }
    }

    /// Returns the configuration of a service account whose folder may be anywhere. Its files are
    /// read again whenever they are renewed.
    async fn account_config(&self) -> Result<Config, ConnectError> {
        let folder = self.service_account.as_deref();
        let folder = folder.unwrap_or_else(|| Path::new(ACCOUNT));
        let [token, certificates] = ["token", "ca.crt"].map(|name| folder.join(name));
        for file in [&token, &certificates] {
            std::fs::read(file).map_err(|source| ConnectError::Account {
                file: file.clone(),
                source,
            })?;
        }
        let server = self.server()?;
        let kubeconfig = serde_json::from_value(serde_json::json!({
            "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority": certificates}}],
            "users": [{"name": "c", "user": {"tokenFile": token}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
            "current-context": "c",
        }));
        let unusable = |source: KubeconfigError| ConnectError::Kubeconfig {
            file: folder.to_owned(),
            source: Box::new(source),
        };
        let kubeconfig: Kubeconfig = kubeconfig.expect("the shape of a kubeconfig is known");
        let read = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let mut config = read.map_err(unusable)?;
        config.root_cert_file = Some(certificates);
        Ok(config)
    }

    /// Returns the API server that the entry names, or else the one of the pod's environment.
    fn server(&self) -> Result<String, ConnectError> {
        if let Some(server) = &self.api_server {
            return Ok(server.clone());
        }
        let variable = |name| std::env::var(name).ok();
        let (host, port) = (
            variable("KUBERNETES_SERVICE_HOST"),
            variable("KUBERNETES_SERVICE_PORT"),
        );
        match (host, port) {
            (Some(host), Some(port)) if host.contains(':') => {
                Ok(format!("https://[{host}]:{port}"))
            }
            (Some(host), Some(port)) => Ok(format!("https://{host}:{port}")),
            _ => Err(ConnectError::Nowhere),
        }
    }
}

/// Folder in which pods find the files of their service account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

async fn read(file: &PathBuf, options: &KubeConfigOptions) -> Result<Config, KubeconfigError> {
    Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, options).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_reached_in_one_way() {
        let access = |kubeconfig: bool, account: bool, server: Option<&str>| ClusterAccess {
            kubeconfig: kubeconfig.then(|| "file".into()),
            service_account: account.then(|| "folder".into()),
            api_server: server.map(str::to_owned),
            context: None,
        };
        for (kubeconfig, account, server, expected) in [
            (false, false, None, Ok(())),
            (true, false, None, Ok(())),
            (false, true, Some("https://h:1"), Ok(())),
            (true, true, None, Err(AccessMistake::TwoAccounts)),
            (
                true,
                false,
                Some("https://h"),
                Err(AccessMistake::TwoServers),
            ),
            (
                false,
                true,
                Some("http://h"),
                Err(AccessMistake::NoUrl("http://h".to_owned())),
            ),
        ] {
            let checked = access(kubeconfig, account, server).check();
            assert_eq!(checked, expected, "{server:?}");
        }
    }
}
