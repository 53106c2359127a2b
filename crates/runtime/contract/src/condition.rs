//! The condition of a worker as its runtime reports it, whatever administrators want of it.

use std::fmt;

use crate::Image;

/// A kind of container that a step needs. Every step is plain, and may be more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    Plain,
    Privileged,
    Hermetic,
    /// An image that is an artifact of the build.
    Assembled,
}

impl Shape {
    pub const ALL: [Self; 4] = [
        Self::Plain,
        Self::Privileged,
        Self::Hermetic,
        Self::Assembled,
    ];

    /// All that a step is at once.
    pub fn of(image: &Image, privileged: bool, hermetic: bool) -> Vec<Self> {
        let assembled = matches!(image, Image::Volume { .. });
        let more = [
            (Self::Privileged, privileged),
            (Self::Hermetic, hermetic),
            (Self::Assembled, assembled),
        ];
        let more = more.into_iter().filter(|(_, wanted)| *wanted);
        std::iter::once(Self::Plain)
            .chain(more.map(|(shape, _)| shape))
            .collect()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "steps",
            Self::Privileged => "privileged steps",
            Self::Hermetic => "hermetic steps",
            Self::Assembled => "steps whose image is an artifact",
        })
    }
}

/// Something that a worker should have and has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Kinds of steps that cannot run because of it; none, if it is only worth knowing.
    pub shapes: Vec<Shape>,
    pub why: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// The reason why the state of the worker's containers is unknown.
    pub stalled: Option<String>,
    pub lacks: Vec<Lack>,
    /// The features that its owner does not offer there. Steps that need it go elsewhere; nothing
    /// is wrong with that.
    pub not_offered: Vec<Lack>,
}

impl Condition {
    /// The first reason why a step of these shapes cannot run there, in words.
    pub fn cannot(&self, shapes: &[Shape]) -> Option<String> {
        let mut reasons = self.not_offered.iter().chain(&self.lacks);
        reasons.find_map(|lack| {
            let shape = shapes.iter().find(|shape| lack.shapes.contains(shape))?;
            Some(format!("cannot run {shape} because {}", lack.why))
        })
    }

    /// Everything that is not as it should be, for people.
    pub fn words(&self) -> Vec<String> {
        let stalled = self.stalled.iter().cloned();
        stalled
            .chain(self.lacks.iter().map(|lack| lack.why.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_all_its_shapes() {
        let image = Image::registry("busybox");
        assert_eq!(Shape::of(&image, false, false), [Shape::Plain]);
        let both = Shape::of(&image, true, true);
        assert_eq!(both, [Shape::Plain, Shape::Privileged, Shape::Hermetic]);
    }

    #[test]
    fn what_is_lacking_concerns_those_who_need_it() {
        let condition = Condition {
            stalled: None,
            not_offered: vec![Lack {
                shapes: vec![Shape::Hermetic],
                why: "its target does not offer them".to_owned(),
            }],
            lacks: vec![
                Lack {
                    shapes: Vec::new(),
                    why: "a remark".to_owned(),
                },
                Lack {
                    shapes: vec![Shape::Privileged],
                    why: "the namespace forbids it".to_owned(),
                },
            ],
        };
        assert_eq!(condition.cannot(&[Shape::Plain]), None);
        let words = condition.cannot(&[Shape::Plain, Shape::Privileged]);
        let expected = "cannot run privileged steps because the namespace forbids it";
        assert_eq!(words.as_deref(), Some(expected));
        assert_eq!(condition.words(), ["a remark", "the namespace forbids it"]);
        let words = condition.cannot(&[Shape::Plain, Shape::Hermetic]);
        let expected = "cannot run hermetic steps because its target does not offer them";
        assert_eq!(words.as_deref(), Some(expected));
    }
}
