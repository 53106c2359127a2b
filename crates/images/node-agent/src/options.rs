//! Options of the agent about images, for both programs that have it.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use airside_image_rules::plan::{DiskRules, GarbageMode, GarbageOrder};
use clap::{Args, ValueEnum};
use http::Uri;

use crate::{OperatorClient, Settings, Task, images::OPERATOR_TIMEOUT};

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Images of ImageSets")]
pub struct ImageOptions {
    /// Keep the images of the cluster's ImageSets on this node
    #[arg(long)]
    pub images: bool,

    /// Name of this node
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    node: Option<String>,

    /// Socket of containerd
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/run/containerd/containerd.sock"
    )]
    pub(crate) runtime_socket: PathBuf,

    /// Directory on the file system that has the images, to measure disk usage
    #[arg(long, value_name = "DIR", default_value = "/var/lib/containerd")]
    image_root: PathBuf,

    /// Maximum number of pulls on this node at once
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pulls_at_once: u32,

    /// Disk usage, in percent, at which no image is added; keep it below the kubelet's
    /// imageGCHighThresholdPercent (85)
    #[arg(long, value_name = "PERCENT", default_value_t = 75, value_parser = clap::value_parser!(u8).range(1..=100))]
    high_mark: u8,

    /// Disk usage, in percent, down to which images of ImageSets are removed
    #[arg(long, value_name = "PERCENT", default_value_t = 65, value_parser = clap::value_parser!(u8).range(0..=100))]
    low_mark: u8,

    /// Policy at --high-mark, where no image is added
    #[arg(
        long,
        value_enum,
        value_name = "POLICY",
        alias = "at-high-mark",
        default_value = "collect"
    )]
    high_mark_policy: HighMarkPolicy,

    /// Images to remove first, after those that no ImageSet wants
    #[arg(
        long,
        value_enum,
        value_name = "ORDER",
        alias = "goes-first",
        default_value = "oldest"
    )]
    remove_first: RemoveFirst,

    /// Maximum size of images protected from the kubelet's garbage collection, in megabytes
    /// [default: no limit]
    #[arg(long, value_name = "MB")]
    pin_budget: Option<u64>,

    /// Interval of the agent's reports, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
    heartbeat: u32,

    /// URL of the operator, which grants each pull and has the logins of private registries
    #[arg(long, value_name = "URL")]
    operator: Option<Uri>,

    /// File with the CA certificates (PEM) to trust for the operator
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/run/airside/operator/ca.crt"
    )]
    operator_ca: PathBuf,

    /// File with this agent's token for the operator
    #[arg(long, value_name = "FILE", default_value = "/run/airside/token/token")]
    operator_token: PathBuf,

    /// Address that accepts connections of probes once the images of this node are known, or
    /// removed with --clean [default: none]
    #[arg(long, value_name = "ADDR", value_parser = airside_serve::listen_address)]
    health: Option<SocketAddr>,

    /// Remove Airside's labels, pins and images from this node instead, then exit, or wait if
    /// --health is given
    #[arg(long, requires = "images")]
    pub clean: bool,

    /// Keep the images that --clean would remove
    #[arg(long, requires = "clean")]
    keep_images: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum HighMarkPolicy {
    /// Remove nothing
    Refuse,
    /// Remove images that were pulled for ImageSets, down to --low-mark
    Collect,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RemoveFirst {
    /// Images that were pulled longest ago
    Oldest,
    /// The largest images
    Largest,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("--images needs --node, the name of this node; in a pod, NODE_NAME from spec.nodeName")]
    Node,
    #[error("--low-mark {low} must be below --high-mark {high}")]
    Marks { low: u8, high: u8 },
}

impl ImageOptions {
    /// Returns the settings; none if no images are to be kept.
    pub fn settings(&self) -> Result<Option<(Settings, Task)>, Missing> {
        if !self.images {
            return Ok(None);
        }
        let (low, high) = (self.low_mark, self.high_mark);
        if low >= high {
            return Err(Missing::Marks { low, high });
        }
        let megabytes = |budget: u64| budget.saturating_mul(1_000_000);
        let rules = DiskRules {
            high,
            low,
            mode: match self.high_mark_policy {
                HighMarkPolicy::Refuse => GarbageMode::Refuse,
                HighMarkPolicy::Collect => GarbageMode::Collect,
            },
            order: match self.remove_first {
                RemoveFirst::Oldest => GarbageOrder::Oldest,
                RemoveFirst::Largest => GarbageOrder::Largest,
            },
            pin_budget: self.pin_budget.map_or(u64::MAX, megabytes),
        };
        let settings = Settings {
            node: self.node.clone().ok_or(Missing::Node)?,
            runtime_socket: self.runtime_socket.clone(),
            image_root: self.image_root.clone(),
            pulls_at_once: usize::try_from(self.pulls_at_once).unwrap_or(usize::MAX),
            rules,
            heartbeat: Duration::from_secs(self.heartbeat.into()),
            operator: self.operator.clone().map(|url| OperatorClient {
                url,
                ca: self.operator_ca.clone(),
                token: self.operator_token.clone(),
                patience: OPERATOR_TIMEOUT,
            }),
            health: self.health,
        };
        let task = if self.clean {
            Task::Clean {
                keep_images: self.keep_images,
            }
        } else {
            Task::Keep
        };
        Ok(Some((settings, task)))
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    fn read(args: &[&str]) -> Result<Option<(Settings, Task)>, String> {
        let command = ImageOptions::augment_args(Command::new("node").no_binary_name(true));
        let matches = command
            .try_get_matches_from(args)
            .map_err(|error| error.to_string())?;
        let options = ImageOptions::from_arg_matches(&matches).unwrap();
        options.settings().map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_said_is_what_is_done() {
        assert!(read(&[]).unwrap().is_none());
        let (settings, task) = read(&["--images", "--node=n1"]).unwrap().unwrap();
        assert_eq!((settings.rules, task), (DiskRules::default(), Task::Keep));
        let more = ["--pin-budget=5", "--clean", "--remove-first=largest"];
        let args = [&["--images", "--node=n1"][..], &more].concat();
        let (settings, task) = read(&args).unwrap().unwrap();
        assert_eq!(settings.rules.pin_budget, 5_000_000);
        assert_eq!(settings.rules.order, GarbageOrder::Largest);
        assert_eq!(task, Task::Clean { keep_images: false });
    }

    #[test]
    fn options_are_known_by_their_earlier_names() {
        let args = ["--images", "--node=n1"];
        let rules = |more: [&str; 2]| {
            let (settings, _) = read(&[args, more].concat()).unwrap().unwrap();
            settings.rules
        };
        let earlier = rules(["--at-high-mark=refuse", "--goes-first=largest"]);
        let current = rules(["--high-mark-policy=refuse", "--remove-first=largest"]);
        assert_eq!(earlier, current);
        assert_eq!(earlier.mode, GarbageMode::Refuse);
    }

    #[test]
    fn mistakes() {
        for (args, expected) in [
            (
                &["--images", "--node=n", "--low-mark=75"][..],
                "must be below --high-mark 75",
            ),
            (&["--images", "--node=n", "--high-mark=101"], "101"),
            (
                &["--images", "--node=n", "--pulls-at-once=0"],
                "0 is not in",
            ),
            (&["--clean"], "--images"),
            (&["--images", "--node=n", "--keep-images"], "--clean"),
        ] {
            let error = read(args).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
    }
}
