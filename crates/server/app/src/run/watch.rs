//! `--watch`: another run whenever an input, the pipeline or a file with values changes.
//!
//! A change during a run aborts the run, hooks included, and begins another: the result would be of
//! files that are no more.

use std::{
    collections::HashSet,
    ffi::OsStr,
    io::Write as _,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use airside_file_watch::{TreeChanges, TreeWatch};
use airside_runtime_local::RUN_FOLDER;
use airside_store::now;
use anyhow::{Context as _, Result};
use clap::Args;
use tokio::time::{Instant, timeout_at};

use super::{End, Options, Results, checkout::Checkout, read, run_once, stop::Stop};
use crate::printing::tell;

/// Time without a change after which a run begins: an editor writes several files at once.
const QUIET: Duration = Duration::from_millis(300);
/// Time after which a run begins although there are still changes.
const MAX_UNQUIET: Duration = Duration::from_secs(5);
/// Folders that are watched.
const MAX_FOLDERS: usize = 16_384;
/// Changed files that are named.
const MAX_NAMED: usize = 3;

#[derive(Args, Default)]
pub(crate) struct WatchOptions {
    /// Run again whenever the pipeline, a file with values or an --input changes, until Ctrl-C
    #[arg(long)]
    watch: bool,
}

impl WatchOptions {
    /// Returns the reason why the option cannot be used with the others.
    pub(crate) fn problem(&self, pipeline: &Path) -> Option<String> {
        (self.watch && pipeline == Path::new("-"))
            .then(|| "--watch needs a file: standard input does not change".to_owned())
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.watch
    }
}

/// Runs until the person stops it. Returns the end of the last run.
pub(crate) async fn run(options: &Arc<Options>, stop: &Stop, results: &Results) -> Result<End> {
    loop {
        // Before anything is read, so that no change is missed.
        let watch = SourceWatch::new(options).await?;
        let this_run = stop.for_one_run();
        let mut running = pin!(run_as_it_is(options, &this_run, results));
        // One future for both waits: a change that it has taken when the run ends is not lost.
        let mut changed = pin!(watch.changed());
        let mut changes = None;
        let end = tokio::select! {
            end = &mut running => end,
            changed = &mut changed => {
                let changed = changed?;
                if !stop.asked.is_cancelled() {
                    let shown = shown(&changed, options);
                    tell(&format!("airside: {shown} changed; aborting this run for another"));
                }
                changes = Some(changed);
                this_run.asked.cancel();
                running.await
            }
        };
        if stop.asked.is_cancelled() {
            return Ok(end);
        }
        let changes = match changes {
            Some(changes) => changes,
            None => {
                tell("airside: waiting for a change; Ctrl-C ends it");
                tokio::select! {
                    changed = changed => changed?,
                    () = stop.asked.cancelled() => return Ok(end),
                }
            }
        };
        print(&separator(&shown(&changes, options)));
    }
}

/// Reads the files and runs what they say. Mistakes in them wait for their correction.
async fn run_as_it_is(options: &Arc<Options>, stop: &Stop, results: &Results) -> End {
    let asked = options.clone();
    let reading = airside_tasks::blocking("files of a run", move || read(&asked));
    let read = tokio::select! {
        read = reading => read,
        () = stop.asked.cancelled() => return End::Aborted,
    };
    let ready = match read {
        Ok(Ok(ready)) => ready,
        Err(panicked) => {
            tell(&format!("airside: {panicked}"));
            return End::Errored;
        }
        Ok(Err(words)) => {
            tell(&format!("airside: {}", words.trim_end()));
            return End::Errored;
        }
    };
    match run_once(options, ready, stop, results).await {
        Ok(end) => end,
        Err(error) => {
            tell(&format!("airside: {error:#}"));
            End::Errored
        }
    }
}

/// A line between two runs, with the time and the changes.
fn separator(shown: &str) -> String {
    let time = jiff::Timestamp::from_microsecond(now().0).unwrap_or_default();
    let time = time.to_zoned(jiff::tz::TimeZone::system());
    format!(
        "\n──── {} ──── {shown} changed ────\n\n",
        time.strftime("%H:%M:%S")
    )
}

/// Prints text for people. An error is ignored, as with all output of a run.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// Names the files that changed, as far as a line has room.
fn shown(changes: &TreeChanges, options: &Options) -> String {
    let short = |path: &Path| {
        let mut roots = options.inputs.iter().map(|folder| folder.path.as_path());
        let below = roots.find_map(|root| path.strip_prefix(root).ok());
        let plain = |c: char| if c.is_control() { '?' } else { c };
        let path = below.unwrap_or(path).to_string_lossy().into_owned();
        path.chars().map(plain).collect::<String>()
    };
    let named: Vec<String> = changes
        .paths
        .iter()
        .take(MAX_NAMED)
        .map(|path| short(path))
        .collect();
    let rest = changes.paths.len() - named.len();
    match (named.as_slice(), rest, changes.more) {
        ([], ..) => "many files".to_owned(),
        (named, 0, false) => named.join(", "),
        (named, _, true) => format!("{} and many more", named.join(", ")),
        (named, rest, false) => format!("{} and {rest} more", named.join(", ")),
    }
}

/// A watch on everything that a run reads.
struct SourceWatch {
    watch: TreeWatch,
    checkouts: Vec<(PathBuf, Option<Checkout>)>,
    /// File that the run itself writes.
    own_file: Option<PathBuf>,
}

impl SourceWatch {
    async fn new(options: &Options) -> Result<Self> {
        let roots = options
            .inputs
            .iter()
            .map(|folder| folder.path.clone())
            .collect();
        let files = options.files();
        let counts_ignored = options.input.input_ignored;
        let own_file = options.results.file().and_then(|file| real_path(file));
        let made = airside_tasks::blocking("watch of the inputs", move || {
            Self::make(roots, &files, counts_ignored, own_file)
        });
        made.await?
    }

    fn make(
        roots: Vec<PathBuf>,
        files: &[PathBuf],
        counts_ignored: bool,
        own_file: Option<PathBuf>,
    ) -> Result<Self> {
        let mut watch = TreeWatch::new(MAX_FOLDERS).context("cannot watch files")?;
        for file in files {
            watch.add_file(file).context("--watch")?;
        }
        let mut checkouts = Vec::new();
        for root in roots {
            let checkout = Checkout::find(&root).filter(|_| !counts_ignored);
            // What is not known to be ignored is watched.
            let ignored = checkout
                .as_ref()
                .and_then(|checkout| checkout.ignored().ok());
            let ignored: HashSet<PathBuf> = ignored.into_iter().flatten().collect();
            let is_left_out = |path: &Path| is_no_input(path) || ignored.contains(path);
            watch.add_tree(&root, &is_left_out).context("--watch")?;
            checkouts.push((root, checkout));
        }
        Ok(Self {
            watch,
            checkouts,
            own_file,
        })
    }

    /// Returns the changes that count, once there are no more for a while.
    async fn changed(&self) -> Result<TreeChanges> {
        let mut changes = loop {
            let changes = self.counted(self.watch.changed().await?).await?;
            if !changes.is_empty() {
                break changes;
            }
        };
        let end = Instant::now() + MAX_UNQUIET;
        loop {
            let quiet = (Instant::now() + QUIET).min(end);
            let Ok(more) = timeout_at(quiet, self.watch.changed()).await else {
                return Ok(changes);
            };
            changes.extend(self.counted(more?).await?);
        }
    }

    /// Leaves out what git ignores, and git's own files.
    async fn counted(&self, changes: TreeChanges) -> Result<TreeChanges> {
        let TreeChanges { mut paths, more } = changes;
        if self.own_file.is_some() {
            paths.retain(|path| real_path(path) != self.own_file);
        }
        for (root, checkout) in &self.checkouts {
            paths.retain(|path| !path.strip_prefix(root).is_ok_and(is_no_input));
            let Some(checkout) = checkout.clone() else {
                continue;
            };
            let below = paths.iter().filter_map(|path| path.strip_prefix(root).ok());
            let below: Vec<PathBuf> = below.map(Path::to_owned).collect();
            if below.is_empty() {
                continue;
            }
            let asked = airside_tasks::blocking("question about changes", move || {
                checkout.ignored_of(&below).unwrap_or_default()
            });
            for ignored in asked.await? {
                paths.remove(&root.join(ignored));
            }
        }
        Ok(TreeChanges { paths, more })
    }
}

/// Returns true for the files of git and of this run, below the folder of an input.
fn is_no_input(below: &Path) -> bool {
    let of_run = |part: &OsStr| part.to_string_lossy().starts_with(RUN_FOLDER);
    below.starts_with(".git") || below.iter().any(of_run)
}

/// Returns a file's path without links in its folders; the file itself need not exist.
fn real_path(file: &Path) -> Option<PathBuf> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    Some(folder.canonicalize().ok()?.join(file.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_cannot_be_watched() {
        let wanted = WatchOptions { watch: true };
        assert!(wanted.problem(Path::new("-")).is_some());
        assert!(wanted.problem(Path::new("ci.yml")).is_none());
    }

    #[test]
    fn a_separator_says_what_changed() {
        let line = separator("src/main.rs");
        assert!(
            line.ends_with(" ──── src/main.rs changed ────\n\n"),
            "{line}"
        );
        assert_eq!(line.matches(':').count(), 2, "{line}");
    }
}
