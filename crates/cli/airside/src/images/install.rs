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
  airside images install | kubectl apply --server-side -f -
  airside images install --image ci.example.com/airside:1 --ca-file our-ca.pem | kubectl apply --server-side -f -
      an image of your own registry, whose certificate is signed by your own authority
  airside images install --placement policy | kubectl apply --server-side -f -
      pods are placed by the API server itself, without a webhook; Kubernetes 1.36 and later
  airside images install --mirror-registry docker.io | kubectl apply --server-side -f -
      with a mirror, so that nodes pull from the registry once
";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Placement {
    /// A webhook, which does all of it
    #[default]
    Webhook,
    /// A MutatingAdmissionPolicy of the API server: no gates, no templates; Kubernetes 1.36 and later
    Policy,
}

#[derive(Args)]
pub(crate) struct Options {
    /// The namespace that everything of it is in
    #[arg(long, value_name = "NAME", default_value = "airside-images")]
    namespace: String,

    /// Airside's own image, as nodes find it
    #[arg(long, value_name = "IMAGE", default_value = DEFAULT_IMAGE)]
    image: String,

    /// Replicas of the operator; one works, the others wait for it to fail
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    replicas: u32,

    /// Certificates of your own authority, as PEM, by which registries are trusted: by the operator, the mirror, and on
    /// nodes for registries that are mirrored
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// A namespace whose pull secrets may be read (repeatable); all of them if none is named
    #[arg(long, value_name = "NAME")]
    secret_namespace: Vec<String>,

    /// A registry without TLS (repeatable)
    #[arg(long, value_name = "HOST:PORT")]
    plain_registry: Vec<String>,

    /// How many pulls of the whole cluster are under way at once
    #[arg(long, value_name = "NUMBER")]
    pulls_at_once: Option<u32>,

    /// A further option of `airside images operator`, such as --agent-timeout=120 (repeatable)
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    operator_option: Vec<String>,

    /// The agent's image, if it is another
    #[arg(long, value_name = "IMAGE")]
    node_image: Option<String>,

    /// Of every node's containerd
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/run/containerd/containerd.sock"
    )]
    runtime_socket: String,

    /// A folder of every node, on the file system that images are on
    #[arg(long, value_name = "DIR", default_value = "/var/lib/containerd")]
    image_root: String,

    /// How full a node's disk may be before no image is added, in percent
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    high_mark: Option<u8>,

    /// Down to where images are removed then, in percent
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    low_mark: Option<u8>,

    /// Who brings pods to nodes that have their images
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    placement: Placement,

    /// Leave pods where they go: neither webhook nor policy
    #[arg(long)]
    no_admission: bool,

    /// Also place Deployments, StatefulSets and CronJobs that are there already, where they or their namespace opted in
    #[arg(long, conflicts_with = "no_admission")]
    workloads: bool,

    /// Names of images that no set keeps on nodes are moved to this registry, where runtimes know no mirrors
    #[arg(long, value_name = "HOST", conflicts_with = "no_admission")]
    rewrite_to: Option<Rewrite>,

    #[command(flatten)]
    mirror: MirrorOptions,

    /// Prints agents that take everything of theirs away from the nodes instead: what to apply before uninstalling
    #[arg(long)]
    clean: bool,

    /// Further options of `airside node`
    #[arg(last = true, value_name = "OPTION")]
    node_options: Vec<String>,
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
                "--workloads and --rewrite-to take a webhook; leave them out, or --placement policy"
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
