//! `airside worker`: what operators do about workers that `fly` has no command for. Speaks to the server's API, with
//! the login that `fly` keeps.

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

pub const EXAMPLES: &str = "\
Examples:
  airside worker -t ci token --name gpu-1 --tag gpu --output token
      lets a machine join as worker `gpu-1`; `airside agent --token token` there joins
  airside worker -t ci revoke gpu-1
      cuts it off, at once and for good
  airside worker -t ci retire gpu-1
      lets its steps end, and then it is gone; `return` brings it back
";

#[derive(Args)]
pub struct Options {
    /// The server, by the name that `fly -t NAME login` gave it
    #[arg(short, long, value_name = "NAME")]
    target: String,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Makes the token with which a machine joins; one that the name had before is good for nothing any more
    Token(Token),
    /// Lists who has a token
    Tokens,
    /// Makes a name's token good for nothing, and cuts off whoever is connected with it
    Revoke {
        /// The agent's name
        name: String,
    },
    /// Lets a worker's steps end; then it is gone
    Retire {
        /// The worker's name
        name: String,
    },
    /// Brings back a worker that has landed, retired or was pruned
    Return {
        /// The worker's name
        name: String,
    },
}

#[derive(Args)]
struct Token {
    /// What the worker is to be called
    #[arg(long, value_name = "NAME")]
    name: String,

    /// Serve this team alone [default: all teams]
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,

    /// Take steps with this tag, and none without tags. Can be given more than once
    #[arg(id = "tag", long, value_name = "TAG")]
    tags: Vec<String>,

    /// Write it to this file, which only its owner can read [default: to standard output]
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
        Command::Token(token) => make(&api, token),
        Command::Tokens => list(&api),
        Command::Revoke { name } => {
            api.call(
                "DELETE",
                &format!("/agents/{}/token", api::encode(name)),
                None,
            )?;
            say(&format!("token of `{name}` revoked"))
        }
        Command::Retire { name } => {
            api.call(
                "PUT",
                &format!("/workers/{}/retire", api::encode(name)),
                None,
            )?;
            say(&format!("worker `{name}` retires"))
        }
        Command::Return { name } => {
            api.call("POST", "/workers", Some(&json!({"name": name})))?;
            say(&format!("worker `{name}` is back"))
        }
    }
}

fn make(api: &Api, token: &Token) -> Result<()> {
    let path = format!("/agents/{}/token", api::encode(&token.name));
    let wanted = json!({"team": token.team, "tags": token.tags});
    let made: Made = serde_json::from_slice(&api.call("PUT", &path, Some(&wanted))?)
        .context("the server's answer is no token; is it another version of airside?")?;
    match &token.output {
        Some(file) => write(file, &made.token)?,
        None => say(&made.token)?,
    }
    let port = made.hub.rsplit(':').next().unwrap_or_default();
    eprintln!("The machine joins with: airside agent --hub HOST:{port} --token FILE");
    if made.hub.starts_with("127.") || made.hub.starts_with("[::1]") {
        eprintln!(
            "The hub listens on {} only: for other machines, start the server with --hub-listen 0.0.0.0:{port}",
            made.hub
        );
    }
    Ok(())
}

fn write(file: &Path, token: &str) -> Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options
        .open(file)
        .and_then(|mut opened| opened.write_all(format!("{token}\n").as_bytes()));
    written.with_context(|| format!("cannot write the token to {}", file.display()))
}

fn list(api: &Api) -> Result<()> {
    let passes: Vec<Pass> = serde_json::from_slice(&api.call("GET", "/agents", None)?)
        .context("the server's answer is no list of tokens; is it another version of airside?")?;
    for pass in passes {
        let team = pass.team.as_deref().unwrap_or("all teams");
        let tags = match pass.tags.as_slice() {
            [] => "no tags".to_owned(),
            tags => tags.join(", "),
        };
        say(&format!("{}\t{team}\t{tags}", pass.name))?;
    }
    Ok(())
}

fn say(line: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
