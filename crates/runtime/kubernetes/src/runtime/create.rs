//! Creating a pod, at an API server that may have started only just now.

use airside_runtime::Error;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;

use super::KubeRuntime;
use crate::{
    ready,
    refusal::{self, unavailable},
};

impl KubeRuntime {
    /// Creates a pod. An API server that has not read its roles yet denies every request, as if a
    /// right were missing for good. So a denial counts only from one that says it is ready.
    pub(super) async fn create(&self, doing: &str, pod: &Pod) -> Result<kube::Result<Pod>, Error> {
        let how = PostParams::default();
        match self.ask(doing, self.pods.create(&how, pod)).await? {
            Err(kube::Error::Api(status)) if refusal::denies(&status) => {
                if !self.server_is_ready(doing).await? {
                    let said = &status.message;
                    let message = format!(
                        "the API server has only just started and is not ready yet (/readyz), so it denies what it \
                         will allow: {doing}: {said}"
                    );
                    return Err(unavailable(&self.target.name, message));
                }
                // It may have become ready between the two answers.
                self.ask(doing, self.pods.create(&how, pod)).await
            }
            other => Ok(other),
        }
    }

    async fn server_is_ready(&self, doing: &str) -> Result<bool, Error> {
        let client = self.pods.clone().into_client();
        let answer = async { Ok(ready::ask(&client).await) };
        Ok(self.ask(doing, answer).await?.unwrap_or(false))
    }
}
