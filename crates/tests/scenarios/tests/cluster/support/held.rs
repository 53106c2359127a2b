//! A resource type whose scripts wait for the test in the middle of their work.

use airside_scenarios::{Counter, type_rootfs};

use super::{Namespace, WORKER};

/// The image of such a type, on every node, known by the namespace's name.
pub(crate) struct HeldType(String);

impl HeldType {
    /// Loads a type whose scripts count as `check`, `in` and `out`.
    pub(crate) fn load(namespace: &Namespace, counter: &Counter) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = |name: &str, rest: &str| {
            format!(
                "#!/bin/bash\ncat >/dev/null\n{}\n{rest}\n",
                counter.bump(name)
            )
        };
        let check = script("check", r#"echo '[{"v": "1"}]'"#);
        let get = script("in", r#"echo text >"$1/f"; echo '{"version": {"v": "1"}}'"#);
        let put = script("out", r#"echo '{"version": {"v": "2"}}'"#);
        let scripts = [("check", &*check), ("in", &*get), ("out", &*put)];
        let rootfs = type_rootfs(folder.path(), &scripts);
        let image = format!("airside.local/{}", namespace.name);
        let name = format!("{image}:dev");
        (namespace.cluster).ask(&["load", &name, rootfs.to_str().unwrap()]);
        Self(image)
    }

    /// A pipeline with one resource `it` of this type, and jobs `gets` and `puts`; all of it in
    /// pods.
    pub(crate) fn pipeline(&self) -> String {
        let image = &self.0;
        format!(
            "resource_types:\n- {{name: held, type: registry-image, check_every: 1h, source: {{repository: {image}, \
             tag: dev}}}}\nresources:\n- {{name: it, type: held, source: {{}}, check_every: never, tags: [{WORKER}]}}\n\
             jobs:\n- {{name: gets, plan: [{{get: it, tags: [{WORKER}]}}]}}\n\
             - {{name: puts, plan: [{{put: it, no_get: true, tags: [{WORKER}]}}]}}\n"
        )
    }
}
