//! The keys that seal what is secret in the database.

use std::path::{Path, PathBuf};

use airside_store::Sealer;
use anyhow::{Context, Result};
use clap::Args;

use crate::data::DataFolder;

#[derive(Args)]
#[command(next_help_heading = "Encryption keys")]
pub(crate) struct Keys {
    /// File with the key that encrypts pipelines, team members, tokens and plans in the database:
    /// 32 bytes, or 64 hex digits
    ///
    /// `airside up` makes one in the data directory on the first start; `airside web` requires it.
    /// Make one with `openssl rand -hex 32`.
    #[arg(long, value_name = "FILE")]
    pub(crate) encryption_key_file: Option<PathBuf>,

    /// File with the previous key; at the start everything is encrypted anew with the current one
    #[arg(long, value_name = "FILE")]
    old_encryption_key_file: Option<PathBuf>,
}

impl Keys {
    pub(crate) fn sealer(&self, data: &DataFolder) -> Result<Sealer> {
        let sealer = match &self.encryption_key_file {
            Some(file) => Sealer::new(&read(file)?).with_context(|| unusable(file))?,
            None => Sealer::new(&data.encryption_key()?)?,
        };
        match &self.old_encryption_key_file {
            Some(file) => Ok(sealer
                .with_old_key(&read(file)?)
                .with_context(|| unusable(file))?),
            None => Ok(sealer),
        }
    }
}

fn unusable(file: &Path) -> String {
    format!("cannot use the key in {}", file.display())
}

/// A key as it is, or in hex digits.
fn read(file: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(file)
        .with_context(|| format!("cannot read the key in {}", file.display()))?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default().trim();
    Ok(if text.len() == 64 {
        hex::decode(text).unwrap_or(bytes)
    } else {
        bytes
    })
}
