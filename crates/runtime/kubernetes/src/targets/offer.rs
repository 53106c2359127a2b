//! The features that a target has beyond ordinary steps, as its owner declares it: what is not
//! offered is neither looked for nor lacking.

use std::fmt;

use airside_runtime::{Lack, Shape};
use serde::Deserialize;

use super::Target;

/// Something beyond ordinary steps that a target may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// Steps without a network.
    Hermetic,
    /// Steps whose image is an artifact of their build.
    ArtifactImages,
    /// Kept pods that give back what they asked for.
    KeptResize,
    /// Kept pods that say so by a label, and that autoscalers may remove.
    KeptMarks,
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hermetic => "hermetic",
            Self::ArtifactImages => "artifact_images",
            Self::KeptResize => "kept_resize",
            Self::KeptMarks => "kept_marks",
        })
    }
}

/// The level of Pod Security that the namespace enforces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PodSecurity {
    /// The cluster refuses nothing.
    #[default]
    Privileged,
    /// The cluster refuses capabilities beyond the usual ones.
    Baseline,
    /// The cluster refuses all capabilities, and programs that gain rights.
    Restricted,
}

impl Target {
    /// Returns true if the target has this, by what its owner says.
    pub fn offers(&self, offer: Offer) -> bool {
        self.withheld(offer).is_none()
    }

    /// The setting by which the target does not have it.
    fn withheld(&self, offer: Offer) -> Option<String> {
        if let Some(offered) = &self.offered
            && !offered.contains(&offer)
        {
            return Some(format!("offers is without {offer}"));
        }
        let takes_capabilities = match offer {
            Offer::Hermetic => !self.host_users,
            Offer::ArtifactImages => self.registry.is_none(),
            Offer::KeptResize | Offer::KeptMarks => false,
        };
        let level = match self.pod_security {
            PodSecurity::Privileged => return None,
            PodSecurity::Baseline => "baseline",
            PodSecurity::Restricted => "restricted",
        };
        takes_capabilities.then(|| format!("pod_security is {level}"))
    }

    /// Returns the kinds of steps that cannot run here because the target does not offer them.
    pub(crate) fn not_offered(&self) -> Vec<Lack> {
        let shapes = [
            (Shape::Hermetic, Offer::Hermetic),
            (Shape::Assembled, Offer::ArtifactImages),
        ];
        let withheld = shapes.into_iter().filter_map(|(shape, offer)| {
            let setting = self.withheld(offer)?;
            Some(Lack {
                shapes: vec![shape],
                why: format!("its target does not offer them ({setting})"),
            })
        });
        withheld.collect()
    }
}
