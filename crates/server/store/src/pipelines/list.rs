//! Pipelines in lists: all that is shown of them, without opening a single configuration.

use airside_model::{PipelineId, TeamId};

use crate::{
    InstanceVars, Micros, Result, Store,
    db::{Fields, Tx, Unpack, Value, fetch_packed, packed, query_as, sql},
};

#[derive(Clone, Debug, PartialEq)]
pub struct PipelineSummary {
    pub id: PipelineId,
    pub team: TeamId,
    pub team_name: String,
    pub name: String,
    pub instance_vars: InstanceVars,
    pub paused: bool,
    pub paused_by: Option<String>,
    pub paused_at: Option<Micros>,
    pub public: bool,
    pub archived: bool,
    /// JSON: `groups` and `display` as configured, where they are.
    pub outline: String,
    pub updated_at: Micros,
}

/// SQL of the columns of [`Row`], and of others that are given.
macro_rules! columns {
    ($($more:literal),*) => {
        concat!(
            "SELECT p.id, p.team_id, t.name AS team_name, p.name, p.instance_vars, p.paused, \
             p.paused_by, p.paused_at, p.public, p.archived, p.summary, p.updated_at",
            $(", ", $more,)*
            " FROM pipelines p JOIN teams t ON t.id = p.team_id AND NOT p.destroyed"
        )
    };
}
pub(super) use columns;

/// SQL of these columns for many pipelines, in the order in which teams arranged them.
macro_rules! list {
    () => {
        concat!(
            "SELECT ",
            packed!(
                num "p.id", num "p.team_id", text "t.name", text "p.name", text "p.instance_vars", num "p.paused",
                text "p.paused_by", num "p.paused_at", num "p.public", num "p.archived", text "p.summary",
                num "p.updated_at";
                "p.team_id, p.ordering, p.instance_ordering, p.id"
            ),
            " FROM pipelines p JOIN teams t ON t.id = p.team_id AND NOT p.destroyed"
        )
    };
}

#[derive(sqlx::FromRow)]
pub(super) struct Row {
    id: i64,
    team_id: i64,
    team_name: String,
    name: String,
    instance_vars: String,
    paused: bool,
    paused_by: Option<String>,
    paused_at: Option<i64>,
    public: bool,
    archived: bool,
    summary: String,
    updated_at: i64,
}

impl Row {
    pub(super) fn read(self) -> Result<PipelineSummary> {
        Ok(PipelineSummary {
            id: PipelineId(self.id),
            team: TeamId(self.team_id),
            team_name: self.team_name,
            name: self.name,
            instance_vars: InstanceVars::parse(&self.instance_vars)?,
            paused: self.paused,
            paused_by: self.paused_by,
            paused_at: self.paused_at.map(Micros),
            public: self.public,
            archived: self.archived,
            outline: self.summary,
            updated_at: Micros(self.updated_at),
        })
    }
}

impl Unpack for PipelineSummary {
    fn unpack(fields: &mut Fields<'_>) -> Result<Self> {
        Ok(Self {
            id: PipelineId(fields.int()?),
            team: TeamId(fields.int()?),
            team_name: fields.owned()?,
            name: fields.owned()?,
            instance_vars: InstanceVars::parse(fields.text()?)?,
            paused: fields.flag()?,
            paused_by: fields.owned_if_any()?,
            paused_at: fields.int_if_any()?.map(Micros),
            public: fields.flag()?,
            archived: fields.flag()?,
            outline: fields.owned()?,
            updated_at: Micros(fields.int()?),
        })
    }
}

pub(super) async fn fetch(tx: &mut Tx, id: PipelineId) -> Result<PipelineSummary> {
    let row: Row = query_as(sql!(columns!(), " WHERE p.id = $1"))
        .bind(id.0)
        .fetch_one(tx)
        .await?;
    row.read()
}

impl Store {
    /// One pipeline as lists show it, by its name and instance vars.
    pub async fn pipeline_summary(
        &self,
        team: TeamId,
        name: &str,
        vars: &InstanceVars,
    ) -> Result<Option<PipelineSummary>> {
        let row: Option<Row> = query_as(sql!(
            columns!(),
            " WHERE p.team_id = $1 AND p.name = $2 AND p.instance_vars = $3"
        ))
        .bind(team.0)
        .bind(name)
        .bind(vars.to_string())
        .fetch_optional(&self.read)
        .await?;
        row.map(Row::read).transpose()
    }

    pub async fn pipeline_summary_by_id(&self, id: PipelineId) -> Result<Option<PipelineSummary>> {
        let row: Option<Row> = query_as(sql!(columns!(), " WHERE p.id = $1"))
            .bind(id.0)
            .fetch_optional(&self.read)
            .await?;
        row.map(Row::read).transpose()
    }

    /// Lists the pipelines of one team, or of all, in the order in which the team arranged them.
    pub async fn pipelines(&self, team: Option<TeamId>) -> Result<Vec<PipelineSummary>> {
        let statement = match team {
            Some(_) => sql!(list!(), " WHERE p.team_id = $1"),
            None => sql!(list!()),
        };
        fetch_packed(statement, team.map(|team| Value::from(team.0)), &self.read).await
    }
}
