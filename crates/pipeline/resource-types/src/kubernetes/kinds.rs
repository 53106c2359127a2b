//! Kinds as people write them, and the paths at which the API server has their objects.

use airside_blocking_http::encode;
use serde_json::Value;

/// Longest name of a kind, group or object that is read.
const MAX_NAME_BYTES: usize = 253;

/// A kind of objects in one version of its group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ObjectKind {
    /// Empty for the core group.
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

impl ObjectKind {
    /// Reads `KIND[.GROUP]/VERSION` or `[GROUP/]VERSION/KIND`; the kind begins with a capital.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.rsplit_once('/')?;
        let begins_with_capital = |text: &str| text.starts_with(|c: char| c.is_ascii_uppercase());
        let found = if begins_with_capital(last) {
            Self::of(first, last)
        } else {
            let (kind, group) = first.split_once('.').unwrap_or((first, ""));
            Self {
                group: group.to_owned(),
                version: last.to_owned(),
                kind: kind.to_owned(),
            }
        };
        let is_fine = is_name(&found.version)
            && (found.group.is_empty() || is_name(&found.group))
            && begins_with_capital(&found.kind)
            && found.kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && found.kind.len() <= MAX_NAME_BYTES;
        is_fine.then_some(found)
    }

    /// Makes a kind of an `apiVersion` and a `kind`.
    fn of(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// Reads the kind of a document.
    pub(super) fn of_object(object: &Value) -> Option<Self> {
        let text = |key: &str| object.get(key)?.as_str();
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        Self::parse(&format!("{api_version}/{kind}"))
    }

    /// Returns true if both are the same kind, in whatever version.
    pub(super) fn is_same_kind(&self, other: &Self) -> bool {
        self.group == other.group && self.kind == other.kind
    }

    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Returns the path below which the API server has the group's kinds.
    pub(super) fn base(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }

    /// Guesses the resource of a kind by the rule that its own tools have. Most definitions keep
    /// it; where one does not, the API server knows no such path.
    pub(super) fn guess(&self, is_namespaced: bool) -> Resource {
        let lower = self.kind.to_ascii_lowercase();
        let plural = match lower.strip_suffix('y') {
            _ if lower.ends_with('s') => format!("{lower}es"),
            Some(stem) => format!("{stem}ies"),
            None => format!("{lower}s"),
        };
        Resource {
            kind: self.clone(),
            plural,
            is_namespaced,
            has_status: true,
        }
    }
}

impl std::fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.api_version(), self.kind)
    }
}

/// Returns true if a text can be a name in a path.
pub(super) fn is_name(text: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let is_dots = text.bytes().all(|byte| byte == b'.');
    !text.is_empty() && !is_dots && text.len() <= MAX_NAME_BYTES && text.bytes().all(fine)
}

/// A kind as the API server serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) kind: ObjectKind,
    pub(super) plural: String,
    pub(super) is_namespaced: bool,
    /// True if its objects have a status that is written apart.
    pub(super) has_status: bool,
}

impl Resource {
    /// Returns the path of all objects, of one namespace where the kind has namespaces.
    pub(super) fn collection(&self, namespace: &str) -> String {
        let (base, plural) = (self.kind.base(), &self.plural);
        if self.is_namespaced {
            let namespace = encode(namespace, b"");
            format!("{base}/namespaces/{namespace}/{plural}")
        } else {
            format!("{base}/{plural}")
        }
    }
}

/// One object, by its address in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectAddress {
    pub(super) resource: Resource,
    /// Means nothing for kinds without namespaces.
    pub(super) namespace: String,
    pub(super) name: String,
}

impl ObjectAddress {
    pub(super) fn path(&self) -> String {
        let collection = self.resource.collection(&self.namespace);
        format!("{collection}/{}", encode(&self.name, b""))
    }
}

impl std::fmt::Display for ObjectAddress {
    /// Writes it as `kubectl` does, with the namespace.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.resource.plural)?;
        if !self.resource.kind.group.is_empty() {
            write!(f, ".{}", self.resource.kind.group)?;
        }
        write!(f, "/{}", self.name)?;
        if self.resource.is_namespaced {
            write!(f, " in {}", self.namespace)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_in_both_forms() {
        for (text, api_version, kind, plural) in [
            (
                "Image.kpack.io/v1alpha2",
                "kpack.io/v1alpha2",
                "Image",
                "images",
            ),
            ("Pod/v1", "v1", "Pod", "pods"),
            ("v1/Pod", "v1", "Pod", "pods"),
            ("apps/v1/Deployment", "apps/v1", "Deployment", "deployments"),
            (
                "NetworkPolicy.networking.k8s.io/v1",
                "networking.k8s.io/v1",
                "NetworkPolicy",
                "networkpolicies",
            ),
            ("x.io/v1/Bus", "x.io/v1", "Bus", "buses"),
        ] {
            let found = ObjectKind::parse(text).unwrap();
            assert_eq!(found.api_version(), api_version, "{text}");
            assert_eq!(found.kind, kind, "{text}");
            assert_eq!(found.guess(true).plural, plural, "{text}");
        }
        for text in [
            "",
            "Pod",
            "pod/v1",
            "Pod/",
            "a/b/c/Pod",
            "Po d/v1",
            "../v1/Pod",
            "Pod/v1?x",
        ] {
            assert_eq!(ObjectKind::parse(text), None, "{text}");
        }
    }

    #[test]
    fn objects_have_paths() {
        let address = |text: &str, is_namespaced| ObjectAddress {
            resource: ObjectKind::parse(text).unwrap().guess(is_namespaced),
            namespace: "ns".to_owned(),
            name: "a".to_owned(),
        };
        for (text, is_namespaced, path, shown) in [
            (
                "Pod/v1",
                true,
                "/api/v1/namespaces/ns/pods/a",
                "pods/a in ns",
            ),
            (
                "Namespace/v1",
                false,
                "/api/v1/namespaces/a",
                "namespaces/a",
            ),
            (
                "Job.batch/v1",
                true,
                "/apis/batch/v1/namespaces/ns/jobs/a",
                "jobs.batch/a in ns",
            ),
        ] {
            let address = address(text, is_namespaced);
            assert_eq!(
                (address.path(), address.to_string()),
                (path.to_owned(), shown.to_owned())
            );
        }
    }
}
