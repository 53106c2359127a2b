//! The library that makes the container from its bundle.

use std::{convert::Infallible, path::PathBuf, str::FromStr};

use serde::{Deserialize, Serialize};

/// The library that is built in, or a program with the command line of runc.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Maker {
    #[default]
    Libcontainer,
    Program(PathBuf),
}

impl FromStr for Maker {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "libcontainer" => Self::Libcontainer,
            program => Self::Program(program.into()),
        })
    }
}
