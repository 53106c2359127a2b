//! `airside images install`: all that a cluster needs, as YAML.

mod mirror;

use std::path::PathBuf;

use airside_image_admission::Rewrite;
use airside_image_install::{
    AdmissionInstall, NodeAgentInstall, NodeMirrorInstall, OperatorInstall, definitions,
    placement_policy,
};
use airside_kube_objects::{DEFAULT_IMAGE, Manifest};
use airside_mirror::Authorities;
use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use mirror::{MirrorOptions, Placed};

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Install with defaults
  airside images install | kubectl apply --server-side -f -

  # Use an image of your own registry, and trust your own certificate authority
  airside images install --image ci.example.com/airside:1 --ca-file our-ca.pem \\
    | kubectl apply --server-side -f -

  # Let the API server place pods itself, without a webhook (Kubernetes 1.36 and later)
  airside images install --placement policy | kubectl apply --server-side -f -

  # Install a mirror too, so that each image of the registry is fetched once
  airside images install --mirror-registry docker.io | kubectl apply --server-side -f -";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Placement {
    /// An admission webhook, which supports every feature
    #[default]
    Webhook,
    /// A MutatingAdmissionPolicy of the API server: no gates, no templates; Kubernetes 1.36 and
    /// later
    Policy,
}

#[derive(Args)]
pub(crate) struct Options {
    /// Namespace for everything that is installed
    #[arg(long, value_name = "NAMESPACE", default_value = "airside-images")]
    namespace: String,

    /// Airside's own image, as nodes pull it
    #[arg(long, value_name = "IMAGE", default_value = DEFAULT_IMAGE)]
    image: String,

    /// Number of operator replicas; one works, the others take over if it fails
    #[arg(long, value_name = "N", default_value_t = 1)]
    replicas: u32,

    /// File with CA certificates (PEM) to trust for registries: by the operator, the mirror, and on
    /// nodes for mirrored registries
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Namespace whose pull secrets the operator may read. Can be repeated [default: all
    /// namespaces]
    #[arg(long, value_name = "NAMESPACE")]
    secret_namespace: Vec<String>,

    /// Registry that is reached without TLS. Can be repeated
    #[arg(long, value_name = "HOST:PORT")]
    plain_registry: Vec<String>,

    /// Maximum number of pulls in the whole cluster at once [default: that of `airside images
    /// operator`]
    #[arg(long, value_name = "N")]
    pulls_at_once: Option<u32>,

    /// Further option of `airside images operator`, for example --agent-timeout=120. Can be
    /// repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    operator_option: Vec<String>,

    /// Image of the node agent [default: that of --image]
    #[arg(long, value_name = "IMAGE")]
    node_image: Option<String>,

    /// Socket of containerd on every node
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/run/containerd/containerd.sock"
    )]
    runtime_socket: String,

    /// Directory on every node's file system that has the images, to measure disk usage
    #[arg(long, value_name = "DIR", default_value = "/var/lib/containerd")]
    image_root: String,

    /// Disk usage of a node, in percent, at which no image is added [default: that of `airside
    /// node`]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    high_mark: Option<u8>,

    /// Disk usage of a node, in percent, down to which images are removed [default: that of
    /// `airside node`]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    low_mark: Option<u8>,

    /// Mechanism that places pods on nodes with their images
    #[arg(long, value_name = "MECHANISM", value_enum, default_value_t)]
    placement: Placement,

    /// Do not place pods: install neither webhook nor policy
    #[arg(long)]
    no_admission: bool,

    /// Also place existing Deployments, StatefulSets and CronJobs that opted in, or whose namespace
    /// did
    #[arg(long, conflicts_with = "no_admission")]
    workloads: bool,

    /// Registry to which the names of images that no set keeps on nodes are rewritten, for
    /// container runtimes without mirrors
    #[arg(long, value_name = "HOST", conflicts_with = "no_admission")]
    rewrite_to: Option<Rewrite>,

    /// Print agents that remove everything of Airside from the nodes; apply them before
    /// uninstalling
    #[arg(long)]
    clean: bool,

    /// Further options of `airside node`
    #[arg(last = true, value_name = "OPTION")]
    node_options: Vec<String>,

    #[command(flatten)]
    mirror: MirrorOptions,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    Ok(airside_app::printing::print(
        &manifest(options)?.to_yaml()?,
    )?)
}

fn manifest(options: &Options) -> Result<Manifest> {
    let place = Placed {
        namespace: &options.namespace,
        image: &options.image,
        own_authority: options.ca_file.is_some(),
    };
    let mirror = options.mirror.deployment(&place)?;
    let part = options.mirror.part(&place, mirror.as_ref());
    let agent = agent(options, part).manifest()?;
    if options.clean {
        return Ok(agent);
    }
    let mut all = definitions().and(operator(options)?.manifest()?);
    if let Some(mirror) = &mirror {
        all = all.and(mirror.manifest()?);
    }
    all = all.and(agent);
    if !options.no_admission {
        all = all.and(placement(options)?);
    }
    Ok(all)
}

fn placement(options: &Options) -> Result<Manifest> {
    match options.placement {
        Placement::Webhook => Ok(admission(options).manifest()?),
        Placement::Policy => {
            ensure!(
                !options.workloads && options.rewrite_to.is_none(),
                "--workloads and --rewrite-to need the webhook; leave them out, or --placement policy"
            );
            Ok(placement_policy(&options.namespace)?)
        }
    }
}

fn admission(options: &Options) -> AdmissionInstall {
    AdmissionInstall {
        namespace: options.namespace.clone(),
        image: options.image.clone(),
        replicas: 2,
        rewrite: options.rewrite_to.clone(),
        workloads: options.workloads,
    }
}

fn operator(options: &Options) -> Result<OperatorInstall> {
    let own = options.ca_file.as_deref().map(Authorities::read);
    let own = own.transpose()?;
    let plain = options.plain_registry.iter();
    let plain = plain.map(|host| format!("--plain-registry={host}"));
    let at_once = options.pulls_at_once.iter();
    let at_once = at_once.map(|number| format!("--pulls-at-once={number}"));
    let others = options.operator_option.iter().cloned();
    Ok(OperatorInstall {
        namespace: options.namespace.clone(),
        image: options.image.clone(),
        replicas: options.replicas,
        options: plain.chain(at_once).chain(others).collect(),
        certificates: own.map(|own| own.pem().to_owned()),
        secret_namespaces: options.secret_namespace.clone(),
    })
}

fn agent(options: &Options, mirror: Option<NodeMirrorInstall>) -> NodeAgentInstall {
    let mark = |name: &str, value: Option<u8>| value.map(|value| format!("--{name}={value}"));
    let marks = [
        mark("high-mark", options.high_mark),
        mark("low-mark", options.low_mark),
    ];
    let given = options.node_options.iter().cloned();
    let image = options.node_image.as_ref().unwrap_or(&options.image);
    NodeAgentInstall {
        runtime_socket: options.runtime_socket.clone(),
        image_root: options.image_root.clone(),
        options: marks.into_iter().flatten().chain(given).collect(),
        clean: options.clean,
        mirror,
        ..NodeAgentInstall::new(&options.namespace, image)
    }
}
