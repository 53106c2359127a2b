//! Pipelines, jobs and resources by a part of their names, as far as a reader may see them.

use airside_model::{PipelineId, TeamId};

use crate::{
    InstanceVars, Result, Store,
    db::{Sql, Value, query_as},
};

/// The kind of object that a name belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedKind {
    Pipeline,
    Job,
    Resource,
}

/// The way in which a name must be like a text. Upper and lower case are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameMatch {
    /// All words stand somewhere in the pipeline's name and the own one together.
    Words(Vec<String>),
    Exact(String),
    Prefix(String),
    /// The letters stand in this order.
    Letters(String),
}

/// An object that was found by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundName {
    pub pipeline: PipelineId,
    pub team_name: String,
    pub pipeline_name: String,
    pub instance_vars: InstanceVars,
    /// Name of the job or resource; of a pipeline its own.
    pub name: String,
}

/// The largest number of words that count.
const MAX_WORDS: usize = 6;

type Row = (i64, String, String, String, String);

impl NameMatch {
    /// Returns the patterns, and the SQL of the text that they are held against.
    fn patterns(&self, kind: NamedKind) -> (&'static str, Vec<String>) {
        let own = match kind {
            NamedKind::Pipeline => "lower(p.name)",
            _ => "lower(o.name)",
        };
        match self {
            Self::Words(words) => {
                let both = match kind {
                    NamedKind::Pipeline => {
                        "lower(t.name || ' ' || p.name || ' ' || p.instance_vars)"
                    }
                    _ => "lower(p.name || ' ' || o.name)",
                };
                let words = words.iter().take(MAX_WORDS);
                (
                    both,
                    words.map(|word| format!("%{}%", escaped(word))).collect(),
                )
            }
            Self::Exact(name) => (own, vec![escaped(name)]),
            Self::Prefix(start) => (own, vec![format!("{}%", escaped(start))]),
            Self::Letters(letters) => {
                let letters = letters.chars().map(|letter| escaped(&letter.to_string()));
                let joined: Vec<_> = letters.collect();
                (own, vec![format!("%{}%", joined.join("%"))])
            }
        }
    }
}

/// Escapes what means more than itself in a pattern.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.to_lowercase().chars() {
        if matches!(letter, '%' | '_' | '~') {
            escaped.push('~');
        }
        escaped.push(letter);
    }
    escaped
}

impl Store {
    /// Finds objects by their names in pipelines that are exposed or of one of the teams, and are
    /// not archived. Short names come first: they are most like what was looked for.
    pub async fn find_named(
        &self,
        kind: NamedKind,
        wanted: &NameMatch,
        teams: &[TeamId],
        limit: u32,
    ) -> Result<Vec<FoundName>> {
        let (text, values) = statement(kind, wanted, teams, limit);
        let rows: Vec<Row> = query_as(Sql::built(text))
            .once()
            .bind_all(values)
            .fetch_all(&self.read)
            .await?;
        rows.into_iter().map(found).collect()
    }
}

fn statement(
    kind: NamedKind,
    wanted: &NameMatch,
    teams: &[TeamId],
    limit: u32,
) -> (String, Vec<Value>) {
    let (from, name) = match kind {
        NamedKind::Pipeline => ("", "p.name"),
        NamedKind::Job => (
            " JOIN jobs o ON o.pipeline_id = p.id AND o.active",
            "o.name",
        ),
        NamedKind::Resource => (
            " JOIN resources o ON o.pipeline_id = p.id AND o.active",
            "o.name",
        ),
    };
    let mut values: Vec<Value> = teams.iter().map(|team| Value::from(team.0)).collect();
    let visible: String = (1..=teams.len())
        .map(|at| format!(" OR p.team_id = ${at}"))
        .collect();
    let (against, patterns) = wanted.patterns(kind);
    let mut conditions = String::new();
    for pattern in patterns {
        values.push(Value::from(pattern));
        conditions.push_str(&format!(" AND {against} LIKE ${} ESCAPE '~'", values.len()));
    }
    let text = format!(
        "SELECT p.id, t.name, p.name, p.instance_vars, {name} FROM pipelines p \
         JOIN teams t ON t.id = p.team_id{from} \
         WHERE NOT p.destroyed AND NOT p.archived AND (p.public{visible}){conditions} \
         ORDER BY length({name}), {name}, p.name, p.id LIMIT {limit}"
    );
    (text, values)
}

fn found((pipeline, team_name, pipeline_name, vars, name): Row) -> Result<FoundName> {
    Ok(FoundName {
        pipeline: PipelineId(pipeline),
        team_name,
        pipeline_name,
        instance_vars: InstanceVars::parse(&vars)?,
        name,
    })
}

#[cfg(test)]
mod tests;
