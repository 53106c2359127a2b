//! containerd's `hosts.toml`, which makes it ask the node's own port before a registry.
//!
//! containerd reads these files anew with every pull. Only files of the agent are changed or
//! removed, which are known by their first line; a registry that an administrator has set up stays
//! as it is. The registry itself always remains, for content that the port does not have and for
//! times without an agent.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{Authorities, Registry};

const MARK: &str = "# Made by airside-node, and removed by it; changes are lost.";
const FILE: &str = "hosts.toml";
/// Folder that containerd reads where a registry has none of its own.
const DEFAULT: &str = "_default";
/// File with certificates of the user's own authority, for requests of containerd to the registry
/// itself.
const AUTHORITIES: &str = "airside-ca.pem";

/// Source of the digests of tags: the mirror or the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    /// The registry alone says.
    Registry,
    Mirror,
}

/// containerd's folder of registries.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    folder: PathBuf,
}

/// Registries with files of ours, and with files of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenHosts {
    pub(crate) written: Vec<String>,
    /// Registries that an administrator has set up, which are left alone.
    pub(crate) others: Vec<String>,
}

impl Hosts {
    pub(crate) fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Makes what there is of ours exactly this.
    pub(crate) fn write(
        &self,
        registries: &[Registry],
        port: u16,
        tags: Tags,
        own: Option<&Authorities>,
    ) -> io::Result<WrittenHosts> {
        let mut done = WrittenHosts::default();
        for registry in registries {
            let name = registry.host().unwrap_or(DEFAULT);
            let is_plain = registry.url().is_some_and(|url| url.starts_with("http:"));
            let own = own.filter(|_| !is_plain);
            let text = text(registry.url(), port, tags, own.map(|_| AUTHORITIES));
            if self.is_others(name) {
                done.others.push(name.to_owned());
                continue;
            }
            let folder = self.folder.join(name);
            match own {
                Some(own) => write_whole(&folder, AUTHORITIES, own.pem())?,
                None => remove_if_there(&folder.join(AUTHORITIES))?,
            }
            self.write_one(name, &text)?;
            done.written.push(name.to_owned());
        }
        for name in self.ours()? {
            if !done.written.contains(&name) {
                self.remove(&name)?;
            }
        }
        Ok(done)
    }

    /// One more, which [`Hosts::write`] would remove. Whether it is ours.
    pub(crate) fn write_one(&self, name: &str, text: &str) -> io::Result<bool> {
        if self.is_others(name) {
            return Ok(false);
        }
        write_whole(&self.folder.join(name), FILE, text)?;
        Ok(true)
    }

    fn is_others(&self, name: &str) -> bool {
        let path = self.folder.join(name).join(FILE);
        path.exists() && !is_ours(&path)
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        let folder = self.folder.join(name);
        if !is_ours(&folder.join(FILE)) {
            return Ok(());
        }
        fs::remove_file(folder.join(FILE))?;
        remove_if_there(&folder.join(AUTHORITIES))?;
        // The folder stays if it has certificates of an administrator.
        let _ = fs::remove_dir(&folder);
        Ok(())
    }

    /// Removes all that is ours; how many there were.
    pub(crate) fn clean(&self) -> io::Result<usize> {
        let ours = self.ours()?;
        for name in &ours {
            self.remove(name)?;
        }
        Ok(ours.len())
    }

    fn ours(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut ours = Vec::new();
        for entry in entries {
            let entry = entry?;
            if is_ours(&entry.path().join(FILE)) {
                ours.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(ours)
    }
}

fn is_ours(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.starts_with(MARK))
}

/// Whole or not at all: containerd may read it at any moment.
fn write_whole(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let path = folder.join(name);
    if fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let part = folder.join(".airside-node");
    fs::write(&part, text)?;
    fs::rename(&part, &path)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the text of a file. A port that is not served costs a pull a fifth of a second. `ca` is
/// of the registry itself, and a file beside this one.
pub(crate) fn text(server: Option<&str>, port: u16, tags: Tags, ca: Option<&str>) -> String {
    let server = server.map(|server| format!("server = {server:?}\n"));
    let ca = ca.map(|ca| format!("ca = {ca:?}\n"));
    let registry: String = [server, ca].into_iter().flatten().collect();
    let gap = if registry.is_empty() { "" } else { "\n" };
    let capabilities = match tags {
        Tags::Registry => "[\"pull\"]",
        Tags::Mirror => "[\"pull\", \"resolve\"]",
    };
    format!(
        "{MARK}\n{registry}{gap}[host.\"http://127.0.0.1:{port}\"]\n  capabilities = {capabilities}\n  \
         dial_timeout = \"200ms\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(texts: &[&str]) -> Vec<Registry> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn only_its_own_files_come_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let others = folder.path().join("theirs.example");
        fs::create_dir(&others).unwrap();
        fs::write(others.join(FILE), "server = \"https://x\"\n").unwrap();
        fs::write(folder.path().join("ca.crt"), "x").unwrap();
        let hosts = Hosts::at(folder.path());
        let first = listed(&[
            "docker.io",
            "theirs.example",
            "r.example:5000=http://10.0.0.1:5000",
        ]);
        let done = hosts.write(&first, 5001, Tags::Registry, None).unwrap();
        assert_eq!(done.written, ["docker.io", "r.example:5000"]);
        assert_eq!(done.others, ["theirs.example"]);
        let text = fs::read_to_string(folder.path().join("r.example:5000").join(FILE)).unwrap();
        assert!(text.contains("server = \"http://10.0.0.1:5000\""), "{text}");

        // Certificates of an administrator stay where they are.
        fs::write(folder.path().join("docker.io/ca.crt"), "x").unwrap();
        let done = hosts
            .write(&listed(&["*"]), 5001, Tags::Mirror, None)
            .unwrap();
        assert_eq!(done.written, ["_default"]);
        assert!(!folder.path().join("r.example:5000").exists());
        assert!(folder.path().join("docker.io/ca.crt").exists());
        assert!(!folder.path().join("docker.io").join(FILE).exists());

        assert_eq!(hosts.clean().unwrap(), 1);
        assert_eq!(
            fs::read_to_string(others.join(FILE)).unwrap(),
            "server = \"https://x\"\n"
        );
        assert!(folder.path().join("ca.crt").exists());
        assert_eq!(hosts.clean().unwrap(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_has_nothing_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Hosts::at(&folder.path().join("x")).clean().unwrap(), 0);
    }

    #[test]
    fn the_file() {
        let text = |ca| text(Some("http://10.0.0.1:5000"), 5001, Tags::Registry, ca);
        insta::assert_snapshot!(text(None));
        let with = text(Some(AUTHORITIES));
        assert!(
            with.contains("5000\"\nca = \"airside-ca.pem\"\n\n[host"),
            "{with}"
        );
    }

    #[test]
    fn certificates_come_and_go_with_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let hosts = Hosts::at(folder.path());
        let made = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
        let own = Authorities::parse(&made.cert.pem()).unwrap();
        let registries = listed(&["a.example", "b.example=http://10.0.0.1:5000"]);
        let write = |own| hosts.write(&registries, 5001, Tags::Registry, own).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name));

        write(Some(&own));
        assert_eq!(read("a.example/airside-ca.pem").unwrap(), own.pem());
        assert!(read("a.example/hosts.toml").unwrap().contains("\nca = "));
        // Without TLS there is nothing to trust.
        assert!(read("b.example/airside-ca.pem").is_err());
        assert!(!read("b.example/hosts.toml").unwrap().contains("\nca = "));

        write(None);
        assert!(read("a.example/airside-ca.pem").is_err());
        write(Some(&own));
        assert_eq!(hosts.clean().unwrap(), 2);
        assert!(!folder.path().join("a.example").exists());
    }
}
