//! The seam to the server's own log.

/// The level of the server's log. Names are Concourse's: `debug`, `info`, `error`, `fatal`.
pub trait LogLevel: Send + Sync {
    fn get(&self) -> String;

    /// `false`: there is no such level, and nothing has changed.
    fn set(&self, level: &str) -> bool;
}

/// The level where the log cannot change: always `info`.
pub(crate) struct Fixed;

impl LogLevel for Fixed {
    fn get(&self) -> String {
        "info".to_owned()
    }

    fn set(&self, level: &str) -> bool {
        level == "info"
    }
}
