//! Files that steps name as `artifact/path/in/it`.

use airside_model::{VolumeId, chain};

use crate::{Result, StepError, leaf::Leaf, reference};

/// The reason why a file that a step names cannot be read, in Concourse's words.
#[derive(Debug)]
pub(crate) enum NoFile {
    /// The path has no slash, so that it names no artifact.
    NoArtifact,
    UnknownArtifact {
        artifact: String,
        path: String,
    },
    NotThere {
        artifact: String,
        path: String,
    },
    Unreadable(String),
    /// The step that fetches the files of the artifact did not go on.
    Step(StepError),
}

impl NoFile {
    /// Returns the step's error. `shown` is the name of the file in an error about its artifact.
    pub(crate) fn step_error(self, shown: &str) -> StepError {
        StepError::Users(match self {
            Self::NoArtifact => {
                format!("config path '{shown}' does not specify where the file lives")
            }
            Self::UnknownArtifact { artifact, .. } => {
                format!("unknown artifact source: '{artifact}' in file path '{shown}'")
            }
            Self::NotThere { artifact, path } => {
                format!("file '{path}' not found within artifact '{artifact}'")
            }
            Self::Unreadable(words) => words,
            Self::Step(error) => return error,
        })
    }
}

/// Reads a file of an artifact that an earlier step made.
pub(crate) async fn read(leaf: Leaf<'_>, name: &str) -> Result<Vec<u8>, NoFile> {
    let Some((artifact, path)) = name.split_once('/') else {
        return Err(NoFile::NoArtifact);
    };
    let (artifact, path) = (artifact.to_owned(), path.to_owned());
    let Some(found) = leaf.scope().artifact(&artifact) else {
        return Err(NoFile::UnknownArtifact { artifact, path });
    };
    let file = File {
        artifact: &artifact,
        path: &path,
    };
    match file.read(leaf, &found.volume).await {
        // A description has only the image's metadata.
        Err(NoFile::NotThere { .. }) if found.reference.is_some() => {}
        read => return read,
    }
    match reference::whole(leaf, &artifact, found).await {
        Ok(volume) => file.read(leaf, &volume).await,
        Err(error) => Err(NoFile::Step(error)),
    }
}

struct File<'a> {
    artifact: &'a str,
    path: &'a str,
}

impl File<'_> {
    async fn read(&self, leaf: Leaf<'_>, volume: &VolumeId) -> Result<Vec<u8>, NoFile> {
        let Self { artifact, path } = *self;
        let orchestrator = &leaf.interpreter.engine.parts.orchestrator;
        match orchestrator.read_file(volume, path).await {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(NoFile::NotThere {
                artifact: artifact.to_owned(),
                path: path.to_owned(),
            }),
            Err(error) => Err(NoFile::Unreadable(format!(
                "the file '{path}' of the artifact '{artifact}' cannot be read: {}",
                chain(&error)
            ))),
        }
    }
}
