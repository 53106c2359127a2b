//! Pipelines of a team: their order, who sees them, their ends.

use airside_auth::Action;
use airside_store::{PipelineSummary, now};
use airside_ui::{DestroyForm, SendButton, TeamPipeline};

use crate::web::{
    PageRequest,
    links::{escaped, pipeline_url},
    place::{api_url, shown_time, vars_text},
};

const PARTS: &str = "pipelines";

/// Makes the rows, with the buttons that the viewer may use.
pub(super) fn rows(
    request: &PageRequest,
    pipelines: &[PipelineSummary],
    here: &str,
) -> Vec<TeamPipeline> {
    let mut last = "";
    let mut rows = Vec::new();
    for pipeline in pipelines {
        let leads = pipeline.name != last;
        last = &pipeline.name;
        let may = |action| request.scope.may(action);
        rows.push(TeamPipeline {
            id: pipeline.id.0,
            vars: vars_text(&pipeline.instance_vars),
            href: pipeline_url(pipeline, &[]),
            is_paused: pipeline.paused,
            is_archived: pipeline.archived,
            is_public: pipeline.public,
            paused_by: pipeline.paused_by.clone(),
            updated: shown_time(pipeline.updated_at, now()),
            leads,
            expose: may(Action::ExposePipeline).then(|| expose(pipeline)),
            moves: if leads && may(Action::OrderPipelines) {
                moves(pipeline)
            } else {
                Vec::new()
            },
            actions: actions(request, pipeline, leads),
            destroy: may(Action::DeletePipeline)
                .then(|| format!("{here}?destroy={}#destroy", pipeline.id.0)),
            name: pipeline.name.clone(),
        });
    }
    rows
}

fn expose(pipeline: &PipelineSummary) -> SendButton {
    let (rest, text, question) = if pipeline.public {
        ("hide", "public", None)
    } else {
        (
            "expose",
            "hidden",
            Some(format!(
                "Show {} to all visitors of this server, without a login?",
                pipeline.name
            )),
        )
    };
    let button = SendButton::new("PUT", api_url(pipeline, &[rest]), text, "i-eye")
        .class("btn btn-quiet")
        .state(
            "aria-pressed",
            if pipeline.public { "true" } else { "false" },
        )
        .parts(PARTS);
    match question {
        Some(question) => button.confirm(question),
        None => button,
    }
}

/// Returns the buttons that move a name up and down; `lists.js` fills in the order.
fn moves(pipeline: &PipelineSummary) -> Vec<SendButton> {
    let team = escaped(&pipeline.team_name);
    let url = format!("/api/v1/teams/{team}/pipelines/ordering");
    let button = |text: &str, icon| {
        let text = format!("{text} {}", pipeline.name);
        SendButton::small("PUT", url.clone(), &text, icon).parts(PARTS)
    };
    vec![
        button("Move up", "i-arrow-up").moves("up"),
        button("Move down", "i-arrow-down").moves("down"),
    ]
}

fn actions(request: &PageRequest, pipeline: &PipelineSummary, leads: bool) -> Vec<SendButton> {
    let name = &pipeline.name;
    let button = |rest, text: &str, icon| {
        let text = format!("{text} {name}");
        SendButton::small("PUT", api_url(pipeline, &[rest]), &text, icon).parts(PARTS)
    };
    let (pausing, pause) = if pipeline.paused {
        (
            Action::UnpausePipeline,
            button("unpause", "Unpause", "i-play"),
        )
    } else {
        (Action::PausePipeline, button("pause", "Pause", "i-pause"))
    };
    let rename = button("rename", "Rename", "i-edit").ask(
        "name",
        format!("New name of {name}. Addresses with the old name stop working."),
        name.clone(),
    );
    let offered = [
        (!pipeline.archived, pausing, pause),
        (leads, Action::RenamePipeline, rename),
        (
            !pipeline.archived,
            Action::ArchivePipeline,
            archive(pipeline),
        ),
    ];
    let offered = offered
        .into_iter()
        .filter(|(makes_sense, action, _)| *makes_sense && request.scope.may(*action));
    offered.map(|(_, _, button)| button).collect()
}

fn archive(pipeline: &PipelineSummary) -> SendButton {
    let name = &pipeline.name;
    let question = format!(
        "Archive {name}? Its jobs stop running and its builds stay; it is set again to come back."
    );
    SendButton::small(
        "PUT",
        api_url(pipeline, &["archive"]),
        &format!("Archive {name}"),
        "i-archive",
    )
    .confirm(question)
    .parts(PARTS)
}

/// Returns the question to destroy the pipeline that the address names.
pub(super) fn destroy(request: &PageRequest, pipelines: &[PipelineSummary]) -> Option<DestroyForm> {
    let id: i64 = request.query("destroy")?.parse().ok()?;
    let pipeline = pipelines.iter().find(|pipeline| pipeline.id.0 == id)?;
    request
        .scope
        .may(Action::DeletePipeline)
        .then(|| DestroyForm {
            name: pipeline.name.clone(),
            vars: vars_text(&pipeline.instance_vars),
            url: api_url(pipeline, &[]),
            archive: (!pipeline.archived && request.scope.may(Action::ArchivePipeline))
                .then(|| archive(pipeline).class("icon-btn")),
        })
}
