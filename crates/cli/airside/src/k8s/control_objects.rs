//! `airside k8s control-objects`: the definitions and rights for pipelines as objects of clusters.

use std::path::PathBuf;

use airside_control::{ControlInstall, file};
use airside_runtime_kubernetes::rbac::Account;
use anyhow::Result;
use clap::Args;

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Install the definitions, and the rights in the namespaces of a control file
  airside k8s control-objects --control control.yml | kubectl apply --server-side -f -

  # Let users of the cluster's own roles `view` and `edit` see and change pipelines
  airside k8s control-objects --control control.yml --aggregate | kubectl apply --server-side -f -";

#[derive(Args)]
pub(crate) struct ControlObjects {
    /// Control file whose namespaces the server gets rights in
    #[arg(long, value_name = "FILE")]
    control: PathBuf,

    /// Cluster of the control file to print for [default: all of them]
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,

    /// Make the roles for people a part of the cluster's own roles `view` and `edit`
    #[arg(long)]
    aggregate: bool,

    /// Name of the server's service account
    #[arg(long, value_name = "NAME", default_value = "airside")]
    account: String,

    /// Namespace of the server's service account, which must exist
    #[arg(long, value_name = "NAMESPACE", default_value = "airside")]
    account_namespace: String,
}

impl ControlObjects {
    /// Returns the objects as YAML.
    pub(crate) fn manifest(&self) -> Result<String> {
        let mut clusters = file::load(&self.control)?;
        if let Some(name) = &self.cluster {
            clusters.retain(|cluster| cluster.name == *name);
            if clusters.is_empty() {
                let file = self.control.display();
                anyhow::bail!("{file}: there is no cluster {name:?}");
            }
        }
        let install = ControlInstall {
            account: Account::new(&self.account_namespace, &self.account),
            is_aggregated: self.aggregate,
        };
        Ok(install.manifest(&clusters).to_yaml()?)
    }
}
