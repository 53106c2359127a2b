//! The agent's marks in the runtime, and its lists read by them.
//!
//! All marks are labels of the name that an image has by its id: pulls replace the labels of every
//! other name. Names decide whose an image is: content that was there before the agent stays when
//! the names that the agent gave it go.

use airside_image_rules::plan::{ObservedImage, Pin};
use airside_oci::Reference;
use jiff::Timestamp;

use airside_containerd::{Container, NamedImage, RuntimeImage};

/// containerd's own: the kubelet leaves images with it alone.
pub(crate) const PINNED: &str = "io.cri-containerd.pinned";
/// Label of a pin that the agent set.
pub(crate) const OUR_PIN: &str = "images.airside.dev/pinned";
/// Label with the time at which the agent pulled the content.
pub(crate) const PULLED: &str = "images.airside.dev/pulled";
/// The names that we gave it, with spaces between them.
pub(crate) const NAMES: &str = "images.airside.dev/names";

/// Labels of containerd have at most 4096 bytes, key and value together.
const MAX_NAMES_BYTES: usize = 4096 - NAMES.len();

/// Images and containers of the runtime, listed at one time.
#[derive(Debug, Default)]
pub(crate) struct RuntimeLists {
    pub(crate) images: Vec<RuntimeImage>,
    pub(crate) names: Vec<NamedImage>,
    pub(crate) containers: Vec<Container>,
}

impl RuntimeLists {
    pub(crate) fn found(&self) -> Vec<ObservedImage> {
        self.images.iter().map(|image| self.one(image)).collect()
    }

    fn one(&self, image: &RuntimeImage) -> ObservedImage {
        let mark = |key: &str| self.mark(&image.id, key);
        let pin = match (mark(PINNED).and_then(|_| mark(OUR_PIN)), image.pinned) {
            (Some(_), _) => Pin::Ours,
            (None, true) => Pin::Others,
            (None, false) => Pin::None,
        };
        let names = image.tags.iter().chain(&image.digests);
        ObservedImage {
            id: image.id.clone(),
            names: names.filter_map(|name| name.parse().ok()).collect(),
            size: image.size,
            pin,
            pulled: mark(PULLED).and_then(|time| time.parse::<Timestamp>().ok()),
            in_use: self.uses(image),
        }
    }

    /// Returns true if a container was made from the image, by whatever name.
    fn uses(&self, image: &RuntimeImage) -> bool {
        let is_name = |text: &String| {
            let known = |names: &[String]| names.contains(text);
            *text == image.id || known(&image.tags) || known(&image.digests)
        };
        self.containers.iter().any(|container| {
            is_name(&container.image_ref)
                || is_name(&container.image_id)
                || container
                    .image
                    .as_ref()
                    .is_some_and(|spec| is_name(&spec.image))
        })
    }

    fn mark(&self, id: &str, key: &str) -> Option<&str> {
        let by_id = self.names.iter().find(|name| name.name == id)?;
        by_id.labels.get(key).map(String::as_str)
    }

    /// Returns the names that go with an image, which the agent gave it and which still mean it,
    /// and if other names are left.
    pub(crate) fn departure(&self, id: &str) -> Departure {
        let Some(by_id) = self.names.iter().find(|name| name.name == id) else {
            return Departure::default();
        };
        let given = names_of(by_id);
        let image = self.images.iter().find(|image| image.id == id);
        let names = image
            .into_iter()
            .flat_map(|image| image.tags.iter().chain(&image.digests));
        let (ours, others): (Vec<_>, Vec<_>) = names.partition(|name| given.contains(name));
        Departure {
            names: ours.into_iter().cloned().collect(),
            others_stay: !others.is_empty(),
        }
    }

    /// Returns ids of content that was there before the agent and has a name of ours that no set
    /// wants any more.
    pub(crate) fn strangers<'a>(&'a self, is_wanted: impl Fn(&str) -> bool + 'a) -> Vec<String> {
        self.names
            .iter()
            .filter(|name| name.labels.contains_key(NAMES) && !name.labels.contains_key(PULLED))
            .filter(|name| !is_wanted(&name.name))
            .map(|name| name.name.clone())
            .collect()
    }

    /// Returns true if the kubelet sees the agent's pins, and none if there are no pins.
    pub(crate) fn pins_show(&self) -> Option<bool> {
        let ours = |image: &&RuntimeImage| self.mark(&image.id, OUR_PIN).is_some();
        let mut pinned = self.images.iter().filter(ours).peekable();
        pinned.peek()?;
        Some(pinned.all(|image| image.pinned))
    }

    /// Ids of everything that has a mark of ours.
    pub(crate) fn marked(&self) -> Vec<String> {
        let is_ours = |name: &&NamedImage| {
            [OUR_PIN, PULLED, NAMES]
                .iter()
                .any(|mark| name.labels.contains_key(*mark))
        };
        let marked = self.names.iter().filter(is_ours);
        marked.map(|name| name.name.clone()).collect()
    }
}

/// Steps to remove an image of ours.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Departure {
    pub(crate) names: Vec<String>,
    /// True if other names keep the content: it stays, and only our marks go.
    pub(crate) others_stay: bool,
}

fn names_of(image: &NamedImage) -> Vec<String> {
    let names = image.labels.get(NAMES).map(String::as_str);
    let names = names.unwrap_or_default().split(' ');
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The label that says these names too; as before where there is no more room.
pub(crate) fn with_names(image: &NamedImage, more: &[&Reference]) -> String {
    let mut names = names_of(image);
    for name in more.iter().map(ToString::to_string) {
        let length: usize = names.iter().map(|name| name.len() + 1).sum();
        if !names.contains(&name) && length + name.len() <= MAX_NAMES_BYTES {
            names.push(name);
        }
    }
    names.join(" ")
}

#[cfg(test)]
mod tests;
