//! The numbers of a pull.

use serde::{Deserialize, Serialize};

/// Layers beyond any image in use.
const MAX_LAYERS: u64 = 10_000;
/// Bytes beyond any image in use.
const MAX_BYTES: u64 = 1 << 40;

/// The part of a pull that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullStage {
    /// Layers come from the registry.
    #[default]
    Fetching,
    /// Layers that are here become a root file system.
    Unpacking,
}

/// The state of a pull. Bytes are those of layers as the registry has them, compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PullProgress {
    pub stage: PullStage,
    /// Number of layers; 0 until the registry has answered with the manifest.
    pub layers: u64,
    /// Bytes of all layers.
    pub bytes: u64,
    /// Layers with which this stage is done.
    pub layers_done: u64,
    /// Bytes with which this stage is done.
    pub bytes_done: u64,
    /// Layers among those done that were here before the pull.
    pub layers_present: u64,
    /// Bytes among those done that were here before the pull.
    pub bytes_present: u64,
}

impl PullProgress {
    /// Returns the start of a stage with these layers.
    pub fn start(stage: PullStage, layers: u64, bytes: u64) -> Self {
        Self {
            stage,
            layers,
            bytes,
            ..Self::default()
        }
    }

    /// Returns the progress with numbers that an image can have, whatever a peer reports.
    pub fn bounded(self) -> Self {
        let (layers, bytes) = (self.layers.min(MAX_LAYERS), self.bytes.min(MAX_BYTES));
        Self {
            stage: self.stage,
            layers,
            bytes,
            layers_done: self.layers_done.min(layers),
            bytes_done: self.bytes_done.min(bytes),
            layers_present: self.layers_present.min(layers),
            bytes_present: self.bytes_present.min(bytes),
        }
    }

    /// Returns the bytes of this stage that came from the registry.
    pub fn bytes_fetched(&self) -> u64 {
        self.bytes_done.saturating_sub(self.bytes_present)
    }

    /// Returns the part of this stage that is done, from 0 to 1.
    pub fn fraction(&self) -> f64 {
        match self.bytes {
            0 => 0.0,
            bytes => (self.bytes_done as f64 / bytes as f64).min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_numbers_are_bounded() {
        let all = PullProgress {
            stage: PullStage::Unpacking,
            layers: u64::MAX,
            bytes: 7,
            layers_done: u64::MAX,
            bytes_done: u64::MAX,
            layers_present: u64::MAX,
            bytes_present: u64::MAX,
        };
        let bounded = all.bounded();
        assert_eq!((bounded.layers, bounded.layers_done), (10_000, 10_000));
        assert_eq!((bounded.bytes, bounded.bytes_done), (7, 7));
        assert_eq!((bounded.layers_present, bounded.bytes_present), (10_000, 7));
        assert_eq!(bounded.bytes_fetched(), 0);
        assert_eq!(bounded.fraction(), 1.0);
        assert_eq!(PullProgress::default().fraction(), 0.0);
    }

    #[test]
    fn a_message_of_another_version_is_read_as_far_as_it_goes() {
        let read: PullProgress = serde_json::from_str(r#"{"layers": 3, "more": 1}"#).unwrap();
        assert_eq!(read, PullProgress::start(PullStage::Fetching, 3, 0));
    }
}
