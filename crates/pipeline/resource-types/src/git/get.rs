//! `get`: a working copy at one version.

use std::{fs, io::Write, path::Path};

use airside_model::Version;

use super::{
    Git, branches, config,
    config::Purpose,
    files, metadata,
    settings::{InParams, Source, VersionType, plain},
    submodules, verify,
};
use crate::{Failure, InRequest, Part, Produced, log::say, paths::clear, scratch::Scratch};

/// Beyond this many commits a shallow clone becomes a whole one.
const DEEPEST: u32 = 127;

pub(crate) fn fetch(
    request: InRequest,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let mut source = Source::read(request.source, log)?;
    let params = InParams::read(request.params, log)?;
    let mut access = source.access();
    access.debug |= params.debug;
    let git = Git::new(access, Purpose::Step, log)?;
    if source.version_type == VersionType::Branches {
        return branches::fetch(request.version, dest);
    }
    let version = |key: &str| request.version.0.get(key).cloned();
    let wanted = version("ref").unwrap_or_else(|| "HEAD".to_owned());
    let branch = version("branch").or_else(|| source.branch.clone());
    plain(Part::Version, "ref", &wanted)?;
    plain(
        Part::Version,
        "branch",
        branch.as_deref().unwrap_or_default(),
    )?;
    fs::create_dir_all(dest).map_err(Failure::io(dest))?;
    let mut get = Get {
        git,
        source,
        params,
        dest,
        wanted,
        branch,
    };
    let produced = get.all(log);
    if produced.is_err() {
        clear(dest);
    }
    produced
}

struct Get<'a> {
    git: Git,
    source: Source,
    params: InParams,
    dest: &'a Path,
    wanted: String,
    branch: Option<String>,
}

impl Get<'_> {
    fn all(&mut self, log: &mut dyn Write) -> Result<Produced, Failure> {
        if self.params.disable_git_lfs {
            self.git.set("GIT_LFS_SKIP_SMUDGE", "1");
        }
        self.clone(log)?;
        self.configure()?;
        let notes = ["fetch", "--quiet", "origin", "+refs/notes/*:refs/notes/*"];
        let notes: Vec<&str> = notes.into_iter().chain(self.tag_flag()).collect();
        self.git.run(self.dest, &notes, log)?;
        self.check_out(log)?;
        verify::commit(&mut self.git, &self.source, self.dest, &self.wanted, log)?;
        self.git
            .run(self.dest, &["--no-pager", "log", "-1", "--oneline"], log)?;
        self.git
            .run(self.dest, &["clean", "--force", "--force", "-d"], log)?;
        self.git.run(self.dest, &["submodule", "sync"], log)?;
        self.unlock(log)?;
        submodules::update(&mut self.git, &self.params, self.dest, log)?;
        for branch in &self.params.fetch {
            self.more_branch(branch, log)?;
        }
        self.describe(log)
    }

    fn clone(&self, log: &mut dyn Write) -> Result<(), Failure> {
        let target = self.dest.display().to_string();
        let depth = self.depth().map(|depth| depth.to_string());
        let mut args = vec!["clone", "--no-local", "--no-checkout", "--progress"];
        if !self.params.all_branches {
            args.push("--single-branch");
        }
        if let Some(depth) = &depth {
            args.extend(["--depth", depth]);
        }
        if let Some(branch) = &self.branch {
            args.extend(["--branch", branch]);
        }
        args.extend(self.tag_flag());
        args.extend(["--", self.git.uri(), &target]);
        self.git.run(Path::new("/"), &args, log)
    }

    fn depth(&self) -> Option<u32> {
        self.params.depth.filter(|depth| *depth > 0)
    }

    fn tag_flag(&self) -> Option<&'static str> {
        let asked = self.params.fetch_tags.or(self.source.fetch_tags);
        match asked {
            Some(false) => Some("--no-tags"),
            Some(true) => Some("--tags"),
            None => self.source.wants_tags().then_some("--tags"),
        }
    }

    /// Writes settings that tasks should find in the repository.
    fn configure(&self) -> Result<(), Failure> {
        let append = |name: &str, text: &str| {
            let path = self.dest.join(".git").join(name);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(Failure::io(folder))?;
            }
            fs::OpenOptions::new()
                .append(true)
                .create(true)
                .open(&path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(Failure::io(&path))
        };
        let text = config::for_artifact(&self.git.access().git_config)?;
        append("config", &text)?;
        if self.source.is_sparse() {
            append("config", "[core]\n\tsparseCheckout = true\n")?;
            let patterns = self.source.sparse_paths.join("\n") + "\n";
            append("info/sparse-checkout", &patterns)?;
        }
        Ok(())
    }

    fn check_out(&self, log: &mut dyn Write) -> Result<(), Failure> {
        if let Some(depth) = self.depth() {
            self.deepen(depth, log)?;
        } else if self.source.search_remote_refs && !self.has(&self.wanted)? {
            self.fetch_named(log)?;
        }
        // A branch may have the name of a tag.
        let wanted = match self.source.version_type {
            VersionType::Tags => format!("refs/tags/{}", self.wanted),
            VersionType::Commits | VersionType::Branches => self.wanted.clone(),
        };
        let args = ["checkout", "--force", "--quiet", &wanted, "--"];
        self.git.run(self.dest, &args, log)
    }

    fn has(&self, name: &str) -> Result<bool, Failure> {
        let name = format!("{name}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", &name];
        Ok(self.git.ask(self.dest, &args)?.is_some())
    }

    /// The version may lie deeper than the clone reaches: more was pushed since, or does not count.
    fn deepen(&self, depth: u32, log: &mut dyn Write) -> Result<(), Failure> {
        let oldest = format!("{}~{}", self.wanted, depth - 1);
        let (mut step, mut total) = (depth, depth);
        while !self.has(&oldest)? {
            if !self.dest.join(".git/shallow").exists() {
                break;
            }
            step = step.saturating_mul(2);
            let by = step.to_string();
            let mut args = vec!["fetch", "--progress"];
            if total >= DEEPEST {
                say(
                    log,
                    "the version is far from the branch's end: fetching everything",
                );
                args.push("--unshallow");
            } else {
                say(
                    log,
                    &format!("the version is not in {total} commits: fetching {by} more"),
                );
                args.extend(["--deepen", &by]);
            }
            args.push("origin");
            args.extend(self.tag_flag());
            self.git.run(self.dest, &args, log)?;
            total = total.saturating_add(step);
        }
        Ok(())
    }

    /// The remote may have the commit under a name that no clone brings along.
    fn fetch_named(&self, log: &mut dyn Write) -> Result<(), Failure> {
        let all = self.git.read(self.dest, &["ls-remote", "origin"], log)?;
        let pairs = all.lines().filter_map(|line| line.split_once('\t'));
        let mut found = pairs
            .filter(|(hash, _)| *hash == self.wanted)
            .map(|(_, name)| name);
        match found.next_back() {
            Some(name) => {
                say(log, &format!("fetching {name} for {}", self.wanted));
                self.git
                    .run(self.dest, &["fetch", "--progress", "origin", name], log)
            }
            None => {
                say(
                    log,
                    &format!("no name at the remote leads to {}", self.wanted),
                );
                Ok(())
            }
        }
    }

    fn unlock(&mut self, log: &mut dyn Write) -> Result<(), Failure> {
        use base64::{Engine, prelude::BASE64_STANDARD};
        let Some(key) = &self.source.git_crypt_key else {
            return Ok(());
        };
        let packed: String = key.split_whitespace().collect();
        let key = BASE64_STANDARD
            .decode(packed)
            .map_err(|_| Failure::source("git_crypt_key", "is not in base64"))?;
        let scratch = Scratch::new()?;
        let path = scratch.secret("key", "")?;
        fs::write(&path, key).map_err(Failure::io(&path))?;
        let path = path.display().to_string();
        let ended = self
            .git
            .program("git-crypt", self.dest, &["unlock", &path], b"", log)?;
        if ended.ok {
            Ok(())
        } else {
            Err(Failure::said("git-crypt cannot unlock the repository"))
        }
    }

    fn more_branch(&self, branch: &str, log: &mut dyn Write) -> Result<(), Failure> {
        let args = ["fetch", "--progress", "origin", branch];
        self.git.run(self.dest, &args, log)?;
        let local = format!("refs/heads/{branch}");
        let args = ["show-ref", "--verify", "--quiet", &local];
        if self.git.ask(self.dest, &args)?.is_none() {
            let args = ["branch", "--no-track", branch, "FETCH_HEAD"];
            self.git.run(self.dest, &args, log)?;
        }
        Ok(())
    }

    /// Answers, and writes what later steps may want to know beside the repository.
    fn describe(&self, log: &mut dyn Write) -> Result<Produced, Failure> {
        let returned = match self.wanted.as_str() {
            "HEAD" => self.git.read(self.dest, &["rev-parse", "HEAD"], log)?,
            wanted => wanted.to_owned(),
        };
        let metadata = metadata::of_head(&self.git, self.dest, log)?;
        files::write(
            &self.git,
            self.dest,
            &self.params,
            &returned,
            &metadata,
            log,
        )?;
        if self.source.version_type == VersionType::Tags {
            let path = self.dest.join(".git/tag");
            fs::write(&path, format!("{returned}\n")).map_err(Failure::io(&path))?;
        }
        if self.params.clean_tags {
            let tags = self.git.read(self.dest, &["tag"], log)?;
            let mut args = vec!["tag", "--delete"];
            args.extend(tags.lines());
            if args.len() > 2 {
                self.git.run(self.dest, &args, log)?;
            }
        }
        Ok(Produced {
            version: Version::from([("ref", returned)]),
            metadata,
        })
    }
}
