//! `fly intercept`: a process in a container, over a web socket.
//!
//! The first frame names the process; then input comes in and output goes out, until the process
//! ends, the user is gone, or has not typed for too long.

mod frames;

use std::time::Duration;

use airside_hub::{Hijack, HijackEvent, HijackInput, Hub};
use airside_model::{ContainerState, Handle, StepKind, chain};
use airside_store::{HIJACK_GRACE, Store};
use axum::{
    Extension,
    extract::{
        Path, State,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code},
    },
    response::Response,
};
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use http::{
    HeaderMap,
    header::{AUTHORIZATION, HOST, ORIGIN},
};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use url::Url;

use self::frames::{Input, Output, Process};
use super::containers::{self, Named};
use crate::{
    ApiState,
    error::{ApiError, Result},
    scope::RequestScope,
    serve::CameFrom,
};

/// The most bytes of one frame; `fly` sends far less at a time.
const MAX_FRAME_BYTES: usize = 1 << 20;
/// Time limit for the first frame.
const FIRST_FRAME_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) async fn hijack(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(named): Path<Named>,
    shutdown: Option<Extension<CancellationToken>>,
    address: CameFrom,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Result<Response> {
    if !is_meant(&headers, &state.external_url) {
        return Err(ApiError::Forbidden);
    }
    let (container, build) = containers::find(&state, &scope, named).await?;
    let caller = scope.caller()?;
    if container.labels.kind == StepKind::Check && !caller.is_admin() {
        return Err(ApiError::Forbidden);
    }
    if container.state != ContainerState::Created {
        return Err(ApiError::NotFound);
    }
    let handle = container.handle;
    info!(target: "audit", user = caller.display_user_id(), %handle, build = %build.id, %address, "container intercepted");
    let session = InterceptSession {
        handle,
        hub: state.hub()?.clone(),
        store: state.store.clone(),
        idle: state.intercept_idle_timeout,
        shutdown: shutdown.map_or_else(CancellationToken::new, |Extension(token)| token),
    };
    Ok(upgrade
        .max_message_size(MAX_FRAME_BYTES)
        .on_upgrade(|socket| session.serve(socket)))
}

/// Returns true if the request shows a token of its own, or a page of this server made it: a
/// browser adds its cookie to web sockets of any page.
fn is_meant(headers: &HeaderMap, external_url: &str) -> bool {
    if headers.contains_key(AUTHORIZATION) {
        return true;
    }
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(origin) = text(ORIGIN).and_then(|origin| Url::parse(origin).ok()) else {
        return false;
    };
    let own = Url::parse(external_url).is_ok_and(|own| own.origin() == origin.origin());
    let asked = text(HOST).is_some_and(|host| {
        let asked = Url::parse(&format!("{}://{host}", origin.scheme()));
        asked.is_ok_and(|asked| asked.origin() == origin.origin())
    });
    own || asked
}

struct InterceptSession {
    handle: Handle,
    hub: Hub,
    store: Store,
    idle: Option<Duration>,
    shutdown: CancellationToken,
}

type Outgoing = SplitSink<WebSocket, Message>;

/// The reason why the typing ended before the process did.
enum Silence {
    Gone,
    Idle(Duration),
}

impl InterceptSession {
    async fn serve(self, mut socket: WebSocket) {
        let Some(process) = first(&mut socket).await else {
            let frame = CloseFrame {
                code: close_code::UNSUPPORTED,
                reason: "malformed process spec".into(),
            };
            let _ = socket.send(Message::Close(Some(frame))).await;
            return;
        };
        let default_shell = process.is_default_shell();
        let (mut out, input) = socket.split();
        // Before anything can be changed in there: what the step fetched is not for others any
        // more.
        if let Err(error) = self.store.container_hijacked(&self.handle).await {
            warn!(handle = %self.handle, error = %chain(&error), "intercept of a container not recorded");
            let words =
                "the server cannot record that the container is intercepted; try again later";
            let _ = out.send(Output::error(words.to_owned()).frame()).await;
            let _ = out.close().await;
            return;
        }
        match self.hub.hijack(&self.handle, process.into()).await {
            Err(error) => {
                warn!(handle = %self.handle, error = %chain(&error), "intercept of a container failed");
                let _ = out.send(Output::error(chain(&error)).frame()).await;
            }
            Ok(hijack) => self.converse(hijack, &mut out, input, default_shell).await,
        }
        let _ = out.close().await;
    }

    async fn converse(
        &self,
        hijack: Hijack,
        out: &mut Outgoing,
        input: SplitStream<WebSocket>,
        default_shell: bool,
    ) {
        let Hijack { events, inputs } = hijack;
        let last = tokio::select! {
            () = self.pass_on(events, out, default_shell) => return,
            silence = read(input, inputs, self.idle) => match silence {
                Silence::Gone => return,
                Silence::Idle(limit) => format!("idle timeout ({}s) reached", limit.as_secs()),
            },
            () = self.shutdown.cancelled() => "the server is stopping".to_owned(),
        };
        let _ = out.send(Output::error(last).frame()).await;
    }

    /// Sends what the process writes, and how it ends.
    async fn pass_on(
        &self,
        mut events: mpsc::Receiver<HijackEvent>,
        out: &mut Outgoing,
        default_shell: bool,
    ) {
        // A container in use is not taken away.
        let mut still_here = tokio::time::interval(HIJACK_GRACE / 5);
        loop {
            tokio::select! {
                event = events.recv() => {
                    let Some(event) = event else { return };
                    for output in Output::from_event(event, default_shell) {
                        if out.send(output.frame()).await.is_err() {
                            return;
                        }
                    }
                }
                _ = still_here.tick() => {
                    if let Err(error) = self.store.container_hijacked(&self.handle).await {
                        warn!(handle = %self.handle, error = %chain(&error), "intercept of a container not recorded");
                    }
                }
            }
        }
    }
}

/// The process that the first frame asks for.
async fn first(socket: &mut WebSocket) -> Option<Process> {
    loop {
        let received = timeout(FIRST_FRAME_TIMEOUT, socket.recv()).await.ok()?;
        match received?.ok()? {
            Message::Text(text) => return serde_json::from_str(&text).ok(),
            Message::Binary(bytes) => return serde_json::from_slice(&bytes).ok(),
            // Answered by the socket itself.
            Message::Ping(_) | Message::Pong(_) => {}
            Message::Close(_) => return None,
        }
    }
}

/// Passes input on until the user stops typing.
async fn read(
    mut socket: SplitStream<WebSocket>,
    inputs: mpsc::Sender<HijackInput>,
    idle: Option<Duration>,
) -> Silence {
    let mut deadline =
        idle.map(|limit| airside_model::deadline_after(tokio::time::Instant::now(), limit));
    loop {
        let message = match deadline {
            None => socket.next().await,
            Some(at) => match tokio::time::timeout_at(at, socket.next()).await {
                Ok(message) => message,
                Err(_) => return Silence::Idle(idle.unwrap_or_default()),
            },
        };
        let input: Option<Input> = match message {
            Some(Ok(Message::Text(text))) => serde_json::from_str(&text).ok(),
            Some(Ok(Message::Binary(bytes))) => serde_json::from_slice(&bytes).ok(),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
            Some(Ok(Message::Close(_)) | Err(_)) | None => return Silence::Gone,
        };
        // What is not an input ends the conversation, as with Concourse.
        let Some(input) = input.and_then(Input::into_hijack) else {
            return Silence::Gone;
        };
        deadline =
            idle.map(|limit| airside_model::deadline_after(tokio::time::Instant::now(), limit));
        if inputs.send(input).await.is_err() {
            // The process has ended; its last words are on their way.
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_pages_open_no_web_socket_with_a_cookie() {
        let meant = |pairs: &[(http::HeaderName, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(name, value.parse().unwrap());
            }
            is_meant(&headers, "https://ci.example/")
        };
        let host = (HOST, "ci.example:8080");
        assert!(meant(&[
            (AUTHORIZATION, "bearer x"),
            (ORIGIN, "https://evil.example")
        ]));
        assert!(meant(&[(ORIGIN, "https://ci.example")]));
        assert!(meant(&[(ORIGIN, "http://ci.example:8080"), host.clone()]));
        for origin in [
            "https://evil.example",
            "https://ci.example:4000",
            "http://ci.example",
            "null",
        ] {
            assert!(!meant(&[(ORIGIN, origin), host.clone()]), "{origin}");
        }
        assert!(!meant(&[host]), "a browser says where it comes from");
    }
}
