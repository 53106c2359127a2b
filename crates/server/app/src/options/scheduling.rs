//! Options about when builds start.

use std::{str::FromStr, time::Duration};

use airside_scheduler::Spacing;

use super::duration;

#[derive(clap::Args)]
#[command(next_help_heading = "Scheduling")]
pub(crate) struct SchedulingOptions {
    /// Minimum time between the starts of two builds of a job; TEAM=DURATION sets it for one team.
    /// Can be repeated [default: none]
    #[arg(
        id = "minimum-build-spacing",
        long,
        value_name = "[TEAM=]DURATION",
        value_delimiter = ','
    )]
    minimum_build_spacing: Vec<TeamSpacing>,
}

impl SchedulingOptions {
    pub(crate) fn spacing(&self) -> Spacing {
        let mut spacing = Spacing::default();
        for TeamSpacing { team, time } in &self.minimum_build_spacing {
            match team {
                Some(team) => {
                    spacing.teams.insert(team.clone(), *time);
                }
                None => spacing.everybody = *time,
            }
        }
        spacing
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TeamSpacing {
    team: Option<String>,
    time: Duration,
}

impl FromStr for TeamSpacing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (team, time) = match text.rsplit_once('=') {
            Some(("", _)) => return Err("the team before the `=` is empty".to_owned()),
            Some((team, time)) => (Some(team.to_owned()), time),
            None => (None, text),
        };
        let time = duration(time)?;
        Ok(Self { team, time })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spacing_is_everybodys_or_a_teams() {
        let words = ["2s", "main=3s", "=2s", "main=", "x"];
        let read = words.map(|text| text.parse::<TeamSpacing>().ok());
        let spacing = |team: Option<&str>, seconds| {
            let (team, time) = (team.map(str::to_owned), Duration::from_secs(seconds));
            Some(TeamSpacing { team, time })
        };
        let expected = [spacing(None, 2), spacing(Some("main"), 3), None, None, None];
        assert_eq!(read, expected);
        let options = SchedulingOptions {
            minimum_build_spacing: read.into_iter().flatten().collect(),
        };
        let all = options.spacing();
        assert_eq!(all.everybody, Duration::from_secs(2));
        assert_eq!(all.teams["main"], Duration::from_secs(3));
    }
}
