//! A cluster's Secrets as the installation's secret manager.

use std::path::PathBuf;

use airside_secrets::{Installation, KubernetesSettings};
use anyhow::{Context, Result, bail};

#[derive(clap::Args)]
#[command(next_help_heading = "Secrets in Kubernetes")]
pub(crate) struct KubernetesOptions {
    /// Read secrets from Secrets of the cluster that this server runs in, as its pod's service
    /// account. See docs/credentials/kubernetes.md
    #[arg(long)]
    kubernetes_in_cluster: bool,

    /// Kubeconfig of the cluster to read Secrets from, if it is not the one that this server runs
    /// in
    #[arg(long, value_name = "FILE")]
    kubernetes_config_path: Option<PathBuf>,

    /// Prefix of the namespaces with Secrets; the team's name follows it
    #[arg(long, value_name = "PREFIX", default_value = "concourse-")]
    kubernetes_namespace_prefix: String,

    /// Suffix, after the prefix, of the namespace with the Secrets that all teams share
    #[arg(long, value_name = "SUFFIX")]
    kubernetes_shared_namespace_suffix: Option<String>,
}

impl KubernetesOptions {
    pub(super) async fn installation(&self) -> Result<Option<Installation>> {
        let kubeconfig = self.kubernetes_config_path.clone();
        match (self.kubernetes_in_cluster, &kubeconfig) {
            (false, None) => return Ok(None),
            (true, Some(_)) => bail!(
                "--kubernetes-in-cluster and --kubernetes-config-path are both given; choose one"
            ),
            _ => {}
        }
        let settings = KubernetesSettings {
            kubeconfig,
            namespace_prefix: self.kubernetes_namespace_prefix.clone(),
            shared_namespace_suffix: self.kubernetes_shared_namespace_suffix.clone(),
        };
        let installation = Installation::kubernetes(settings).await;
        Ok(Some(
            installation.context("cannot use Kubernetes' Secrets")?,
        ))
    }
}
