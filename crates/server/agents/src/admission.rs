//! Admission of agents, with the team and tags of their tokens.

use airside_hub::Hub;
use airside_model::chain;
use airside_protocol::{
    AGENT_PROTOCOL, Join, OLDEST_AGENT_PROTOCOL, OLDEST_PROTOCOL, PROTOCOL, is_agent_name,
};
use airside_store::{AgentPass, Store};
use tracing::warn;

/// The reason why an agent is not let in, in words for its operator.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    pub(crate) retry: bool,
}

impl Refusal {
    pub(crate) fn never(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            retry: false,
        }
    }

    pub(crate) fn later(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            retry: true,
        }
    }
}

/// The terms on which an agent is let in: its token's team, and tags of its token's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    pub(crate) team: Option<String>,
    pub(crate) tags: Vec<String>,
}

pub(crate) async fn judge(store: &Store, join: &Join) -> Result<Admitted, Refusal> {
    understood(join)?;
    let unknown = || {
        Refusal::never(format!(
            "the token for `{}` is not valid, or no longer; an administrator makes a new one with `airside worker \
             token --name {}`",
            join.name, join.name
        ))
    };
    if !is_agent_name(&join.name) {
        return Err(Refusal::never("the agent has a name that no token is for"));
    }
    let hash = Hub::token_hash(&join.secret);
    let pass = store.agent_pass(&join.name, &hash).await;
    let pass = pass.map_err(|error| {
        warn!(error = %chain(&error), "agent postponed: the store does not answer");
        Refusal::later("the server cannot judge tokens at the moment")
    })?;
    entitled(join, &pass.ok_or_else(unknown)?)
}

/// Checks that agent and server speak protocols that both understand.
fn understood(join: &Join) -> Result<(), Refusal> {
    let ours = env!("CARGO_PKG_VERSION");
    let theirs = &join.version;
    if !(OLDEST_AGENT_PROTOCOL..=AGENT_PROTOCOL).contains(&join.protocol) {
        return Err(Refusal::never(format!(
            "the agent (airside {theirs}) speaks protocol {}, this server (airside {ours}) \
             {OLDEST_AGENT_PROTOCOL} to {AGENT_PROTOCOL}: install the server's version on the agent's machine",
            join.protocol
        )));
    }
    if !(OLDEST_PROTOCOL..=PROTOCOL).contains(&join.shim_protocol) {
        return Err(Refusal::never(format!(
            "the shims of the agent (airside {theirs}) speak protocol {}, this server (airside {ours}) \
             {OLDEST_PROTOCOL} to {PROTOCOL}: install the server's version on the agent's machine",
            join.shim_protocol
        )));
    }
    Ok(())
}

/// Checks that the token is good for all that the agent wants to be.
fn entitled(join: &Join, pass: &AgentPass) -> Result<Admitted, Refusal> {
    if let Some(team) = &join.team
        && pass.team.as_ref() != Some(team)
    {
        let good_for = match &pass.team {
            Some(own) => format!("team `{own}`"),
            None => "all teams alike".to_owned(),
        };
        return Err(Refusal::never(format!(
            "the token for `{}` is for {good_for}, and the agent wants to serve team `{team}`",
            join.name
        )));
    }
    if let Some(tag) = join.tags.iter().find(|tag| !pass.tags.contains(tag)) {
        return Err(Refusal::never(format!(
            "the token for `{}` is not for tag `{tag}`, which the agent wants to have; it is for {}",
            join.name,
            match pass.tags.as_slice() {
                [] => "no tag".to_owned(),
                tags => format!("`{}`", tags.join("`, `")),
            }
        )));
    }
    // Without tags it would be a worker for anything, which is more than its token says.
    let tags = if join.tags.is_empty() {
        &pass.tags
    } else {
        &join.tags
    };
    Ok(Admitted {
        team: pass.team.clone(),
        tags: tags.clone(),
    })
}

#[cfg(test)]
mod tests {
    use airside_protocol::AgentArrival;
    use airside_store::Micros;

    use super::*;

    fn join(team: Option<&str>, tags: &[&str]) -> Join {
        Join {
            protocol: AGENT_PROTOCOL,
            shim_protocol: PROTOCOL,
            version: "9.9".to_owned(),
            name: "gpu".to_owned(),
            secret: "s".to_owned(),
            instance: "i".to_owned(),
            arrival: AgentArrival::Started,
            team: team.map(str::to_owned),
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
        }
    }

    fn pass(team: Option<&str>, tags: &[&str]) -> AgentPass {
        AgentPass {
            name: "gpu".to_owned(),
            team: team.map(str::to_owned),
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            created_at: Micros(0),
        }
    }

    #[test]
    fn an_agent_is_what_its_token_says() {
        for (wants, has, is) in [
            (join(None, &[]), pass(None, &[]), Some((None, vec![]))),
            (
                join(None, &[]),
                pass(Some("a"), &["x", "y"]),
                Some((Some("a"), vec!["x", "y"])),
            ),
            (
                join(Some("a"), &["y"]),
                pass(Some("a"), &["x", "y"]),
                Some((Some("a"), vec!["y"])),
            ),
            (join(Some("a"), &[]), pass(None, &[]), None),
            (join(Some("b"), &[]), pass(Some("a"), &[]), None),
            (join(None, &["z"]), pass(None, &["x"]), None),
            (join(None, &["z"]), pass(None, &[]), None),
        ] {
            let found = entitled(&wants, &has).ok();
            let found = found.as_ref().map(|admitted| {
                let tags = admitted.tags.iter().map(String::as_str);
                (admitted.team.as_deref(), tags.collect::<Vec<_>>())
            });
            assert_eq!(found, is, "{wants:?} {:?} with {has:?}", wants.tags);
        }
    }

    #[test]
    fn who_speaks_another_protocol_is_told_which_program_to_install() {
        let mut newer = join(None, &[]);
        newer.protocol = AGENT_PROTOCOL + 1;
        let mut shim = join(None, &[]);
        shim.shim_protocol = PROTOCOL + 1;
        for join in [newer, shim] {
            let refusal = understood(&join).expect_err("it is another protocol");
            assert!(!refusal.retry);
            let words = refusal.reason;
            for part in ["airside 9.9", "install the server's version"] {
                assert!(words.contains(part), "{words}");
            }
        }
        assert_eq!(understood(&join(None, &[])), Ok(()));
    }
}
