//! `airside worker`: administration of workers that `fly` has no command for, through the server's
//! API with the login that `fly` keeps.

mod api;

use std::{
    fs::File,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::json;

use self::api::Api;
use crate::printing::{print, tell};

pub const EXAMPLES: &str = "\
Examples:
  # Let a machine join as worker `gpu-1`; `airside agent --token token` there does
  airside worker -t ci token --name gpu-1 --tag gpu --output token

  # Disconnect it and make its token invalid
  airside worker -t ci revoke gpu-1

  # Remove a worker once its steps have ended; `return` brings it back
  airside worker -t ci retire gpu-1";

#[derive(Args)]
pub struct Options {
    /// Server, by the name that `fly -t NAME login` gave it
    #[arg(short, long, value_name = "TARGET")]
    target: String,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Create the token with which a machine joins as a worker; replaces the name's previous token
    Token(Token),
    /// List the agents that have a token, with their team and tags
    Tokens,
    /// Revoke an agent's token and disconnect the agent
    Revoke {
        /// Name of the agent
        #[arg(value_name = "AGENT")]
        name: String,
    },
    /// Retire a worker: it takes no new steps and is removed once its steps have ended
    Retire {
        /// Name of the worker
        #[arg(value_name = "WORKER")]
        name: String,
    },
    /// Bring back a worker that has landed, retired or was pruned
    Return {
        /// Name of the worker
        #[arg(value_name = "WORKER")]
        name: String,
    },
}

#[derive(Args)]
struct Token {
    /// Name of the worker
    #[arg(long, value_name = "WORKER")]
    name: String,

    /// Team that the worker serves [default: all teams]
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,

    /// Tag of the steps that the worker takes; a worker with tags takes no steps without tags. Can
    /// be repeated
    #[arg(id = "tag", long, value_name = "TAG")]
    tags: Vec<String>,

    /// File to write the token to, readable by its owner only [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Made {
    token: String,
    hub: String,
}

#[derive(Deserialize)]
struct Pass {
    name: String,
    team: Option<String>,
    tags: Vec<String>,
}

pub fn run(options: &Options) -> Result<()> {
    let api = Api::of_target(&options.target)?;
    match &options.command {
        Command::Token(token) => create_token(&api, token),
        Command::Tokens => list_tokens(&api),
        Command::Revoke { name } => {
            api.call(
                "DELETE",
                &format!("/agents/{}/token", api::encode(name)),
                None,
            )?;
            print_line(&format!("token of `{name}` revoked"))
        }
        Command::Retire { name } => {
            api.call(
                "PUT",
                &format!("/workers/{}/retire", api::encode(name)),
                None,
            )?;
            print_line(&format!(
                "worker `{name}` is retiring; it is removed once its steps have ended"
            ))
        }
        Command::Return { name } => {
            api.call("POST", "/workers", Some(&json!({"name": name})))?;
            print_line(&format!("worker `{name}` returned"))
        }
    }
}

fn create_token(api: &Api, token: &Token) -> Result<()> {
    let path = format!("/agents/{}/token", api::encode(&token.name));
    let wanted = json!({"team": token.team, "tags": token.tags});
    let made: Made = serde_json::from_slice(&api.call("PUT", &path, Some(&wanted))?)
        .context("the server's answer is not a token; is it another version of airside?")?;
    match &token.output {
        Some(file) => write_token(file, &made.token)?,
        None => print_line(&made.token)?,
    }
    let port = made.hub.rsplit(':').next().unwrap_or_default();
    tell(&format!(
        "The machine joins with: airside agent --hub HOST:{port} --token FILE"
    ));
    if made.hub.starts_with("127.") || made.hub.starts_with("[::1]") {
        tell(&format!(
            "The hub listens on {} only: for other machines, start the server with --hub-listen 0.0.0.0:{port}",
            made.hub
        ));
    }
    Ok(())
}

fn write_token(file: &Path, token: &str) -> Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options
        .open(file)
        .and_then(|mut opened| opened.write_all(format!("{token}\n").as_bytes()));
    written.with_context(|| format!("cannot write the token to {}", file.display()))
}

fn list_tokens(api: &Api) -> Result<()> {
    let passes: Vec<Pass> = serde_json::from_slice(&api.call("GET", "/agents", None)?).context(
        "the server's answer is not a list of tokens; is it another version of airside?",
    )?;
    for pass in passes {
        let team = pass.team.as_deref().unwrap_or("all teams");
        let tags = match pass.tags.as_slice() {
            [] => "no tags".to_owned(),
            tags => tags.join(", "),
        };
        print_line(&format!("{}\t{team}\t{tags}", pass.name))?;
    }
    Ok(())
}

fn print_line(line: &str) -> Result<()> {
    Ok(print(&format!("{line}\n"))?)
}
