//! The messages. Byte payloads (`Output`, `Chunk`) have a binary form of their own in the codec;
//! everything else travels as JSON.

use airside_model::{Handle, VolumeId, event::Source};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::Join;

/// A message from a shim to the hub.
#[derive(Clone, Debug, PartialEq)]
pub enum ToHub {
    Control(ShimSays),
    Output(Output),
    Chunk(Bytes),
}

/// A message from the hub to a shim.
#[derive(Clone, Debug, PartialEq)]
pub enum ToShim {
    Control(HubSays),
    Chunk(Bytes),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum ShimSays {
    /// Opens a control connection, the first time and after every reconnection.
    Claim(Claim),
    /// The process has been started.
    Started,
    /// The process has ended, its outputs are stored. Repeated until `Committed` arrives.
    Finished {
        exit: Exit,
    },
    Heartbeat,
    /// Opens a volume connection that reads an input.
    Fetch {
        handle: Handle,
        session: String,
        volume: VolumeId,
    },
    /// Opens a volume connection that writes an output.
    Upload {
        handle: Handle,
        session: String,
        volume: VolumeId,
    },
    /// Ends an upload: hex SHA-256 and length of all its chunks.
    End(End),
    /// Opens the connection of the hijack that the hub asked for under this id.
    Answer {
        handle: Handle,
        session: String,
        id: String,
    },
    /// Opens the connection of an agent, which is not a shim: a machine that offers itself as a
    /// worker.
    Join(Box<Join>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum HubSays {
    Claimed(Box<Claimed>),
    /// The connection's request is refused. Only where `retry` is set may it be made again.
    Refused {
        reason: String,
        retry: bool,
    },
    /// Output below this offset is durable; the shim may forget it.
    Ack {
        offset: u64,
    },
    /// End the process: SIGTERM to all of it, SIGKILL after the grace period.
    Stop {
        grace_seconds: u64,
    },
    /// The result is committed. The shim stays, for those who want to look inside.
    Committed,
    /// The container is needed no more.
    Exit,
    /// A person wants a process in the container: answer on a new connection. May be repeated after
    /// a reconnection.
    Hijack(Box<Hijack>),
    Heartbeat,
    /// Volume connections: chunks may follow. Hijack connections: the process may start.
    Begin,
    /// Volume connections: the upload is verified and sealed (perhaps by an earlier attempt).
    Stored,
    /// Ends a fetch: hex SHA-256 and length of all its chunks.
    End(End),
    /// Hijack connections: no more input follows.
    CloseInput,
    /// Hijack connections: the terminal has this size from now on.
    Resize(Tty),
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    pub protocol: u32,
    pub handle: Handle,
    pub token: String,
    /// Made up by the shim when it starts. Only the instance that claimed first may claim again.
    pub instance: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

impl std::fmt::Debug for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Claim")
            .field("protocol", &self.protocol)
            .field("handle", &self.handle)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claimed {
    /// Opens volume connections.
    pub session: String,
    pub epoch: u64,
    /// Output below this offset is durable: resend from here.
    pub output_received: u64,
    pub order: Order,
}

/// The work itself.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub run: Executable,
    pub args: Vec<String>,
    /// Variables on top of what the image brings; later entries win.
    pub env: Vec<(String, String)>,
    /// Working folder of the process; created when missing.
    pub dir: String,
    /// A name or number, optionally `:group`; root when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tty: Option<Tty>,
    /// Written to the process once, then closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// The folder `rootfs` of this volume becomes the root file system, before anything else is
    /// done; every path here is one in it. Absent where the runtime starts the shim in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<VolumeId>,
    /// Inputs to fetch and unpack before the start, in this order. Empty where the runtime mounts
    /// them.
    #[serde(default)]
    pub fetch: Vec<Transfer>,
    /// Folders to make before the start.
    #[serde(default)]
    pub make_dirs: Vec<String>,
    /// Mounted inputs and outputs: a user that is not root gets them with all they contain.
    #[serde(default)]
    pub mounted: Vec<String>,
    /// The process gets a network of its own that leads nowhere.
    #[serde(default)]
    pub hermetic: bool,
    /// Outputs to upload after the end, whatever the exit. Empty where the runtime seals them.
    #[serde(default)]
    pub upload: Vec<Transfer>,
    /// Seconds without a hub after which the shim ends its process.
    pub fence_after_seconds: u64,
}

impl std::fmt::Debug for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Environment and stdin carry secrets.
        f.debug_struct("Order")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

/// A process beside the step's own, with the step's environment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hijack {
    /// Made up by the hub, for one answer.
    pub id: String,
    /// Program to run. A path with a slash is relative to the folder; one without is looked up in
    /// `PATH`.
    pub path: String,
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables on top of the step's; later entries win.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// The step's own where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// The step's own where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tty: Option<Tty>,
    /// True if the process gets an empty folder as its `TMPDIR`, which goes with it and all it left
    /// there.
    #[serde(default)]
    pub scratch: bool,
}

impl std::fmt::Debug for Hijack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Arguments and environment may carry secrets.
        f.debug_struct("Hijack")
            .field("id", &self.id)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The program to execute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Executable {
    /// A program. A path with a slash is relative to `dir`; one without is looked up in `PATH`.
    Path(String),
    /// The shim's own binary: native resource types are part of it.
    Shim,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tty {
    pub columns: u16,
    pub rows: u16,
}

/// A volume and the absolute path it goes to or comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    pub volume: VolumeId,
    pub path: String,
}

/// Bytes of the process, counted over both streams together in the order they were read.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub offset: u64,
    pub source: Source,
    pub data: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub sha256: String,
    pub bytes: u64,
}

/// The end of the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// The executable is not there. An error, not a failure.
    NotFound(String),
    /// The process never ran or its outputs could not be stored; the text says why.
    Broken(String),
    /// The process ended because the hub sent `Stop`.
    Stopped,
    /// Ended because the container was taken away under it: an eviction, a deletion by hand.
    TakenAway,
    /// Ended because no hub was reachable for too long.
    Fenced,
}
