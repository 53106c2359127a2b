//! Rules, without any I/O: what a team's place in a cluster, and an object that sets the pipeline,
//! mean for those who want to change the pipeline by other ways.

use std::fmt;

use airside_model::facts::SetThrough;
use airside_store::PipelineObject;
use serde::Deserialize;

/// The effect of `fly set-pipeline` and of `set_pipeline` steps on a team's pipelines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlyMode {
    /// Sets the pipeline; the cluster is not asked.
    Store,
    /// Sets the pipeline if the cluster allows it, by a dry run.
    #[default]
    Judge,
    /// Applies the object, which sets the pipeline.
    Proxy,
    /// Is refused: objects alone set pipelines.
    Refuse,
}

impl fmt::Display for FlyMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Store => "store",
            Self::Judge => "judge",
            Self::Proxy => "proxy",
            Self::Refuse => "refuse",
        })
    }
}

/// The namespace of a cluster that speaks for a team, as the operator of Airside says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamControl {
    pub cluster: String,
    pub namespace: String,
    pub fly: FlyMode,
    /// True if objects may hold passwords in clear.
    pub clear_secrets: bool,
}

impl TeamControl {
    /// Returns the object if it is in the team's namespace. Another one counts no more: the
    /// operator gave the team another place.
    fn counting<'a>(&self, owner: Option<&'a PipelineObject>) -> Option<&'a PipelineObject> {
        owner.filter(|owner| owner.cluster == self.cluster && owner.namespace == self.namespace)
    }
}

/// The claim with which a pipeline is saved; see [`airside_store::PipelineClaim`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveClaim {
    /// Save, unless an object came to set the pipeline meanwhile.
    Server,
    /// Save, and forget an object that counts no more.
    Release,
    /// Save as what an object says.
    Object,
}

/// The way that setting a pipeline takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetRoute {
    /// Save it at once.
    Save(SaveClaim),
    /// Save it if the judge allows it.
    Judge(SaveClaim),
    /// Apply the object for the user, and save what was applied.
    Proxy,
}

/// Decides how a pipeline is set, or returns the words of a refusal. `pipeline` is its reference,
/// and `owner` the object that sets it, if one does.
pub fn set_route(
    control: Option<&TeamControl>,
    owner: Option<&PipelineObject>,
    through: SetThrough,
    pipeline: &str,
) -> Result<SetRoute, String> {
    let Some(control) = control else {
        return match through {
            SetThrough::Fly | SetThrough::Step => Ok(SetRoute::Save(SaveClaim::Release)),
            SetThrough::Object => Err(format!(
                "no object sets pipeline {pipeline}: its team has no namespace of a cluster"
            )),
        };
    };
    if through == SetThrough::Object {
        return Ok(match control.fly {
            FlyMode::Store => SetRoute::Save(SaveClaim::Object),
            FlyMode::Judge | FlyMode::Proxy | FlyMode::Refuse => SetRoute::Judge(SaveClaim::Object),
        });
    }
    let counting = control.counting(owner);
    // An object that counts no more is forgotten by the way.
    let claim = match owner {
        Some(_) => SaveClaim::Release,
        None => SaveClaim::Server,
    };
    match (control.fly, counting) {
        (FlyMode::Proxy, _) => Ok(SetRoute::Proxy),
        (_, Some(owner)) => Err(set_by(pipeline, owner, "change it there")),
        (FlyMode::Store, None) => Ok(SetRoute::Save(claim)),
        (FlyMode::Judge, None) => Ok(SetRoute::Judge(claim)),
        (FlyMode::Refuse, None) => Err(format!(
            "pipeline {pipeline} is not set here: objects of kind pipeline.ci.airside.dev in {} of cluster {} set the \
             pipelines of its team",
            control.namespace, control.cluster
        )),
    }
}

/// A change of a pipeline that is no new configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineChange {
    Rename,
    Archive,
    Destroy,
    Pause,
    Unpause,
    Expose,
    Hide,
}

/// The way that a change of a pipeline takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeRoute<'a> {
    /// Make the change.
    Proceed,
    /// Delete the object first, then make the change.
    DeleteObject(&'a PipelineObject),
}

/// Decides how a pipeline is changed, or returns the words of a refusal. `pipeline` is its
/// reference, and `owner` the object that sets it, if one does.
pub fn change_route<'a>(
    control: Option<&TeamControl>,
    owner: Option<&'a PipelineObject>,
    change: PipelineChange,
    pipeline: &str,
) -> Result<ChangeRoute<'a>, String> {
    let counting = control.and_then(|control| Some((control.fly, control.counting(owner)?)));
    let Some((mode, owner)) = counting else {
        return Ok(ChangeRoute::Proceed);
    };
    match change {
        // An object's value is acted on when it changes; people win in between.
        PipelineChange::Pause
        | PipelineChange::Unpause
        | PipelineChange::Expose
        | PipelineChange::Hide => Ok(ChangeRoute::Proceed),
        PipelineChange::Destroy if mode == FlyMode::Proxy => Ok(ChangeRoute::DeleteObject(owner)),
        PipelineChange::Archive | PipelineChange::Destroy => Err(set_by(
            pipeline,
            owner,
            "delete it there, and its deletionPolicy decides",
        )),
        PipelineChange::Rename => Err(set_by(
            pipeline,
            owner,
            "it keeps its name; apply an object for a pipeline of another name there",
        )),
    }
}

/// Returns the words of a refusal for a pipeline that an object sets.
pub(crate) fn set_by(pipeline: &str, owner: &PipelineObject, advice: &str) -> String {
    format!(
        "pipeline {pipeline} is set by pipeline.ci.airside.dev/{} in {}; {advice}",
        owner.name, owner.namespace
    )
}

#[cfg(test)]
mod tests;
