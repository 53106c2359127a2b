//! `airside k8s`: manifests for clusters whose nodes run steps, or whose objects are pipelines.

mod control_objects;

use std::path::PathBuf;

use airside_image_install::RegistryAgentInstall;
use airside_kube_objects::{DEFAULT_IMAGE, Manifest};
use airside_model::facts::PipelineFacts;
use airside_node_agent::{Authorities, Upstream};
use airside_runtime_kubernetes::rbac::{self, Account, Feature, Grant};
use anyhow::{Result, bail};
use clap::{Args, Subcommand, builder::PossibleValuesParser};
use serde_json::json;

use airside_app::{target_source::TargetSource, validate::FactsOptions};
use control_objects::ControlObjects;

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Grant the permissions for every namespace of a targets file
  airside k8s rbac --targets targets.yml | kubectl apply -f -

  # Grant them for one namespace, and let the server read one team's Secrets
  airside k8s rbac --namespace ci --credentials-namespace airside-main";

#[derive(Subcommand)]
pub(crate) enum K8s {
    /// Print the service account, Roles and RoleBindings that targets need
    #[command(after_long_help = EXAMPLES)]
    Rbac(Options),
    /// Print the DaemonSet through which nodes pull from the server's registry
    #[command(after_long_help = NODE_EXAMPLES)]
    NodeAgent(NodeAgent),
    /// Print the definitions and rights for pipelines, jobs and builds as objects of clusters
    ///
    /// Prints the three definitions, the roles airside-ci-view, airside-ci-operate and
    /// airside-ci-edit for people, a policy that notes who created a build, and the server's own
    /// rights in each team's namespace. See docs/control-objects.md.
    #[command(after_long_help = control_objects::EXAMPLES)]
    ControlObjects(ControlObjects),
    /// Print a pipeline as the object that policies of a cluster judge
    ///
    /// The object has `spec.facts`: every step of every job as one flat list, without sources and
    /// params. A dry run of it shows what the policies of a cluster say of the pipeline.
    #[command(after_long_help = FACTS_EXAMPLES)]
    Facts(FactsOptions),
}

pub(crate) const FACTS_EXAMPLES: &str = "\
Examples:
  # Show what a policy can read of a pipeline
  airside k8s facts pipeline.yml -l vars.yml

  # Ask a cluster's policies about it; nothing is stored
  airside k8s facts pipeline.yml | kubectl create --dry-run=server --namespace ci-main -f -";

/// Returns the object that is judged when `fly` sets the pipeline.
fn judged_object(facts: &PipelineFacts) -> Result<String> {
    let object = json!({
        "apiVersion": "ci.airside.dev/v1alpha1",
        "kind": "Pipeline",
        "metadata": {"generateName": "facts-"},
        "spec": {"facts": facts},
    });
    Ok(Manifest::new().with(&object).to_yaml()?)
}

pub(crate) const NODE_EXAMPLES: &str = "\
Examples:
  # Install the agent, then set `registry: localhost:5000` in the targets of this cluster
  airside k8s node-agent --registry http://ci.example.com:5000 --image ci.example.com/airside:1 \\
    | kubectl apply -f -

  # Trust your own certificate authority for the registry
  airside k8s node-agent --registry https://ci.example.com:5000 --ca ca.pem \\
    --image ci.example.com/airside:1 | kubectl apply -f -";

#[derive(Args)]
pub(crate) struct NodeAgent {
    /// URL of the server's registry (its --registry-listen), as pods of the cluster reach it
    #[arg(long, value_name = "URL")]
    registry: Upstream,

    /// File with CA certificates (PEM) to trust for the registry; they become a ConfigMap [default:
    /// those that Airside's image trusts]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Airside's own image (`make image`), as nodes pull it
    #[arg(long, value_name = "IMAGE", default_value = DEFAULT_IMAGE)]
    image: String,

    /// Namespace of the DaemonSet, which must exist
    #[arg(long, value_name = "NAMESPACE", default_value = "airside")]
    namespace: String,

    /// Port on each node's loopback
    #[arg(long, value_name = "PORT", default_value_t = 5000)]
    port: u16,
}

impl NodeAgent {
    fn manifest(&self) -> Result<String> {
        let agent = RegistryAgentInstall {
            namespace: self.namespace.clone(),
            image: self.image.clone(),
            registry: self.registry.clone(),
            authorities: self.ca.as_deref().map(Authorities::read).transpose()?,
            port: self.port,
        };
        Ok(agent.manifest()?.to_yaml()?)
    }
}

#[derive(Args)]
pub(crate) struct Options {
    /// Targets file whose namespaces get the permissions
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,

    /// Target whose namespace gets the permissions, written as with `airside up`. Can be repeated
    #[arg(id = "target", long, value_name = "FIELD=VALUE,...")]
    target: Vec<String>,

    /// Namespace that gets the permissions. Can be repeated
    #[arg(id = "namespace", long, value_name = "NAMESPACE")]
    namespaces: Vec<String>,

    /// Feature that needs additional permissions in each of those namespaces. Can be repeated
    #[arg(
        id = "feature",
        long,
        value_name = "FEATURE",
        value_parser = PossibleValuesParser::new(MORE.map(Feature::name))
    )]
    features: Vec<String>,

    /// Namespace whose Secrets the server may read (--kubernetes-in-cluster). Can be repeated
    #[arg(id = "credentials-namespace", long, value_name = "NAMESPACE")]
    credentials: Vec<String>,

    /// Name of the service account
    #[arg(long, value_name = "NAME", default_value = "airside")]
    account: String,

    /// Namespace of the service account [default: the first namespace]
    #[arg(long, value_name = "NAMESPACE")]
    account_namespace: Option<String>,
}

/// Features that can be requested in addition to those that every target uses.
const MORE: [Feature; 3] = [
    Feature::PullSecrets,
    Feature::NetworkPolicies,
    Feature::Images,
];

pub(crate) fn run(command: &K8s) -> Result<()> {
    let text = match command {
        K8s::Rbac(options) => options.manifests()?,
        K8s::NodeAgent(agent) => agent.manifest()?,
        K8s::ControlObjects(objects) => objects.manifest()?,
        K8s::Facts(options) => judged_object(&options.facts()?)?,
    };
    Ok(airside_app::printing::print(&text)?)
}

impl Options {
    fn manifests(&self) -> Result<String> {
        let grants = self.grants()?;
        let Some(first) = grants.first() else {
            bail!(
                "no namespace is given; use --targets FILE, --target, --namespace or --credentials-namespace"
            );
        };
        let namespace = self.account_namespace.as_ref();
        let account = Account {
            name: self.account.clone(),
            namespace: namespace.unwrap_or(&first.namespace).clone(),
        };
        Ok(rbac::manifest(&account, &grants).to_yaml()?)
    }

    fn grants(&self) -> Result<Vec<Grant>> {
        let targets = TargetSource::new(self.targets.clone(), self.target.clone()).read()?;
        let mut used: Vec<(String, Vec<Feature>)> = targets
            .iter()
            .map(|target| (target.namespace.clone(), target.features()))
            .collect();
        let named = self.namespaces.iter();
        used.extend(named.map(|namespace| (namespace.clone(), Feature::EVERYWHERE.to_vec())));
        let more = MORE
            .into_iter()
            .filter(|feature| self.features.iter().any(|name| name == feature.name()));
        let mut grants = Vec::new();
        for (namespace, features) in used {
            grants.extend(
                features
                    .into_iter()
                    .chain(more.clone())
                    .map(|feature| Grant {
                        namespace: namespace.clone(),
                        feature,
                    }),
            );
        }
        grants.extend(self.credentials.iter().map(|namespace| Grant {
            namespace: namespace.clone(),
            feature: Feature::Credentials,
        }));
        Ok(grants)
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    #[test]
    fn facts_are_an_object_for_a_dry_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pipeline.yml");
        let pipeline = "resources: [{name: code, type: git, source: {uri: 'https://ann:s3cret@git.example.com/app'}}]\n\
            jobs: [{name: ((job)), plan: [{get: code}, {try: {task: test, privileged: true, file: code/ci/unit.yml}}]}]";
        std::fs::write(&file, pipeline).unwrap();
        let command = FactsOptions::augment_args(Command::new("facts").no_binary_name(true));
        let matches = command
            .try_get_matches_from([file.to_str().unwrap(), "-v", "job=unit"])
            .unwrap();
        let facts = FactsOptions::from_arg_matches(&matches).unwrap().facts();
        insta::assert_snapshot!(judged_object(&facts.unwrap()).unwrap());
    }

    #[test]
    fn facts_of_what_is_no_pipeline() {
        let command = FactsOptions::augment_args(Command::new("facts").no_binary_name(true));
        let matches = command.try_get_matches_from(["/no/such/file"]).unwrap();
        let error = FactsOptions::from_arg_matches(&matches).unwrap().facts();
        let error = error.unwrap_err().to_string();
        assert!(error.contains("cannot read /no/such/file"), "{error}");
    }

    fn printed(args: &[&str]) -> Result<String> {
        let command = Options::augment_args(Command::new("rbac").no_binary_name(true));
        let matches = command.try_get_matches_from(args)?;
        Options::from_arg_matches(&matches)?.manifests()
    }

    #[test]
    fn per_feature_in_use() {
        insta::assert_snapshot!(
            printed(&[
                "--target=name=a,namespace=ci,hub_host=h",
                "--namespace=other",
                "--feature=pull-secrets",
                "--target=name=b,namespace=old,hub_host=h,host_users=true",
                "--credentials-namespace=airside-main",
                "--account-namespace=airside",
            ])
            .unwrap()
        );
    }

    #[test]
    fn mistakes() {
        for (args, expected) in [
            (&[][..], "no namespace is given"),
            (
                &["--namespace=ci", "--feature=exec"],
                "invalid value 'exec'",
            ),
            (&["--target=name=a"], "missing field"),
            (&["--targets=/no/such/file"], "cannot read the targets file"),
        ] {
            let error = printed(args).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
