//! The readiness of an API server. Until it has read its roles it denies every request, as if a
//! right were missing for good.

use kube::Client;

/// Asks an API server whether it is ready. Every account may ask this once the roles are read,
/// unless an administrator has taken that right away.
pub(crate) async fn ask(client: &Client) -> bool {
    let question = http::Request::get("/readyz").body(Vec::new());
    let question = question.expect("a fixed path is a valid request");
    match client.request_text(question).await {
        Ok(_) => true,
        // What stands in front of some clusters does not know the question.
        Err(kube::Error::Api(status)) => status.code == 404,
        Err(_) => false,
    }
}
