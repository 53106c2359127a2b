//! The states of builds, containers and workers, under the names that `fly` prints.

use serde::{Deserialize, Serialize};

macro_rules! named_states {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$about])* #[serde(rename = $text)] $variant),*
        }

        impl $name {
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            /// `None` for a text that names no state.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

named_states! {
    BuildStatus {
        Pending = "pending",
        Started = "started",
        Succeeded = "succeeded",
        Failed = "failed",
        Errored = "errored",
        Aborted = "aborted",
    }
}

impl BuildStatus {
    pub fn is_finished(self) -> bool {
        !matches!(self, Self::Pending | Self::Started)
    }
}

named_states! {
    /// Persisted before the side effect it describes.
    ContainerState {
        Creating = "creating",
        Created = "created",
        Failed = "failed",
        Destroying = "destroying",
    }
}

named_states! {
    WorkerState {
        Running = "running",
        Stalled = "stalled",
        Landing = "landing",
        Landed = "landed",
        Retiring = "retiring",
        /// Gone for all servers; remembered so that the next start of the server does not bring it
        /// back.
        Retired = "retired",
    }
}

named_states! {
    /// The purpose of a container.
    StepKind {
        Check = "check",
        Get = "get",
        Put = "put",
        Task = "task",
    }
}

impl StepKind {
    /// True if a step of this kind that was lost after its claim may be placed again.
    pub fn may_repeat(self) -> bool {
        matches!(self, Self::Check | Self::Get)
    }
}
