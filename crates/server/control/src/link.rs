//! One team's namespace of one cluster: its client, its objects in memory, and the requests that
//! change them.

use std::{sync::Arc, time::Duration};

use airside_clusters::follow;
use airside_control_objects::{ClusterBuild, ClusterJob, ClusterPipeline};
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{Event, EventSource, ObjectReference},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};
use kube::{
    Api, Client, Resource, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    runtime::reflector::Store,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{sync::Notify, task::JoinSet};

use crate::{ControlTeam, judge::refusal_of};

/// Field manager of everything that is not applied for a user.
pub(crate) const MANAGER: &str = "airside";

/// No single request may hang.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A team's namespace.
pub(crate) struct TeamLink {
    pub(crate) cluster: String,
    pub(crate) team: ControlTeam,
    pub(crate) client: Client,
    pub(crate) pipelines: Api<ClusterPipeline>,
    pub(crate) jobs: Api<ClusterJob>,
    pub(crate) builds: Api<ClusterBuild>,
    pub(crate) seen: SeenObjects,
    /// Notified whenever an object changes.
    pub(crate) changed: Arc<Notify>,
    /// The watches, which end with the link.
    _watches: JoinSet<()>,
}

/// The objects of the namespace, kept in memory.
#[derive(Clone)]
pub(crate) struct SeenObjects {
    pub(crate) pipelines: Store<ClusterPipeline>,
    pub(crate) jobs: Store<ClusterJob>,
    pub(crate) builds: Store<ClusterBuild>,
}

/// A request to the API server that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("the API server did not answer in time")]
    Timeout,
    #[error("the API server refused or failed the request")]
    Api(#[source] Box<kube::Error>),
}

impl RequestError {
    /// Returns the code of the API server's answer, if it answered.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Api(error) => match &**error {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            Self::Timeout => None,
        }
    }

    /// Returns the answer for users, if the API server refused the request for good.
    pub(crate) fn refusal(&self) -> Option<String> {
        match self {
            Self::Api(error) => refusal_of(error),
            Self::Timeout => None,
        }
    }
}

/// Waits for the answer to a request, for a bounded time.
pub(crate) async fn in_time<T>(
    answer: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, RequestError> {
    match tokio::time::timeout(REQUEST_TIMEOUT, answer).await {
        Ok(answer) => answer.map_err(|error| RequestError::Api(Box::new(error))),
        Err(_) => Err(RequestError::Timeout),
    }
}

impl TeamLink {
    /// Starts the watches. Needs a tokio runtime around it.
    pub(crate) fn start(cluster: &str, team: ControlTeam, client: Client) -> Self {
        let namespace = team.namespace.clone();
        let pipelines = Api::namespaced(client.clone(), &namespace);
        let jobs = Api::namespaced(client.clone(), &namespace);
        let builds = Api::namespaced(client.clone(), &namespace);
        let (changed, mut watches) = (Arc::new(Notify::new()), JoinSet::new());
        let seen = SeenObjects {
            pipelines: follow(pipelines.clone(), "Pipelines", &changed, &mut watches),
            jobs: follow(jobs.clone(), "PipelineJobs", &changed, &mut watches),
            builds: follow(builds.clone(), "PipelineBuilds", &changed, &mut watches),
        };
        Self {
            cluster: cluster.to_owned(),
            team,
            client,
            pipelines,
            jobs,
            builds,
            seen,
            changed,
            _watches: watches,
        }
    }

    /// Returns once all objects of the namespace are known.
    pub(crate) async fn wait_until_ready(&self) {
        // A watch is dropped only with its link.
        let _ = self.seen.pipelines.wait_until_ready().await;
        let _ = self.seen.jobs.wait_until_ready().await;
        let _ = self.seen.builds.wait_until_ready().await;
    }

    /// Posts an event about an object. An event that is lost is only a line less to read.
    pub(crate) async fn post_event<K>(&self, object: &K, reason: &str, note: &str)
    where
        K: Resource<DynamicType = ()>,
    {
        let now = Time(crate::now());
        let meta = object.meta();
        let event = Event {
            metadata: ObjectMeta {
                generate_name: Some(format!("{}.", object.name_any())),
                namespace: Some(self.team.namespace.clone()),
                ..ObjectMeta::default()
            },
            involved_object: ObjectReference {
                api_version: Some(K::api_version(&()).into_owned()),
                kind: Some(K::kind(&()).into_owned()),
                name: meta.name.clone(),
                namespace: meta.namespace.clone(),
                uid: meta.uid.clone(),
                resource_version: meta.resource_version.clone(),
                field_path: None,
            },
            type_: Some("Normal".to_owned()),
            reason: Some(reason.to_owned()),
            message: Some(note.to_owned()),
            first_timestamp: Some(now.clone()),
            last_timestamp: Some(now),
            count: Some(1),
            source: Some(EventSource {
                component: Some(MANAGER.to_owned()),
                host: None,
            }),
            ..Event::default()
        };
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.team.namespace);
        if let Err(error) = in_time(events.create(&PostParams::default(), &event)).await {
            tracing::debug!(error = %airside_model::chain(&error), reason, "event not posted");
        }
    }
}

/// Creates an object and returns it as it is then.
pub(crate) async fn create<K>(api: &Api<K>, object: &K) -> Result<K, RequestError>
where
    K: Resource<Scope = NamespaceResourceScope>
        + Clone
        + Serialize
        + DeserializeOwned
        + std::fmt::Debug,
{
    let how = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    in_time(api.create(&how, object)).await
}

/// Writes the status of an object.
pub(crate) async fn write_status<K>(
    api: &Api<K>,
    name: &str,
    uid: &str,
    before: &Value,
    status: &Value,
) -> Result<(), RequestError>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let how = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    // The uid makes sure that it is still the same object.
    let body = json!({"metadata": {"uid": uid}, "status": replacing(before, status)});
    in_time(api.patch_status(name, &how, &Patch::Merge(&body))).await?;
    Ok(())
}

/// Returns a merge patch that replaces a status: fields that are gone are null.
fn replacing(before: &Value, status: &Value) -> Value {
    let mut patch = status.clone();
    if let (Some(before), Some(fields)) = (before.as_object(), patch.as_object_mut()) {
        for key in before
            .keys()
            .filter(|key| status.get(key.as_str()).is_none())
        {
            fields.insert(key.clone(), Value::Null);
        }
    }
    patch
}

/// Deletes an object if it is still this one, as it was seen.
pub(crate) async fn delete<K>(
    api: &Api<K>,
    name: &str,
    uid: &str,
    version: Option<&str>,
) -> Result<(), RequestError>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let how = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: version.map(str::to_owned),
        }),
        ..DeleteParams::default()
    };
    match in_time(api.delete(name, &how)).await {
        Ok(_) => Ok(()),
        // It is gone, or another one or changed by now: the next look decides anew.
        Err(error) if matches!(error.code(), Some(404 | 409)) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_replaced_whole() {
        let before = json!({"a": 1, "b": {"c": 1}});
        let patch = replacing(&before, &json!({"b": {"c": 2}}));
        assert_eq!(patch, json!({"a": null, "b": {"c": 2}}));
        assert_eq!(replacing(&Value::Null, &json!({"a": 1})), json!({"a": 1}));
    }
}
