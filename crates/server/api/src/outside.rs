//! Logging in through an identity provider outside.
//!
//! ```text
//! the login page ─▶ /sky/issuer/auth/github ─▶ GitHub ─▶ /sky/issuer/callback ─▶ /sky/callback
//! ```
//!
//! The callback has the path that it has in Concourse, so what is registered at providers stays
//! good.

use airside_auth::ConnectorName;
use airside_identity_providers::{Attempt, ConnectorError, Fault, Redirecting};
use airside_model::chain;
use axum::{
    Router,
    extract::{Path, Query, RawQuery, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};

use crate::{
    ApiState, audit,
    error::Result,
    journey::{Code, Journey, Kind, lost, open, redirect, seal},
    pages,
    serve::CameFrom,
};

const CALLBACK: &str = "/sky/issuer/callback";

pub(crate) fn router() -> Router<ApiState> {
    Router::new()
        .route("/sky/issuer/auth/{connector}", get(leave))
        .route(CALLBACK, get(come_back))
        .route("/auth/{provider}/callback", get(old_callback))
}

/// A journey that is at a provider now. Sealed, so that the provider learns nothing from it.
#[derive(Serialize, Deserialize)]
struct Away {
    journey: Journey,
    connector: ConnectorName,
    attempt: Attempt,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LoginQuery {
    state: String,
    code: String,
    error: String,
    error_description: String,
}

fn callback_url(state: &ApiState) -> String {
    format!("{}{CALLBACK}", state.external_url)
}

async fn leave(
    State(state): State<ApiState>,
    Path(connector): Path<String>,
    from: CameFrom,
    headers: HeaderMap,
    Query(wanted): Query<LoginQuery>,
) -> Response {
    let named = connector.parse().ok();
    let Some(connector) = named.and_then(|name| state.connectors.find(name)) else {
        let why = "This server does not know that identity provider.";
        let page = pages::failed("No such provider", why, "/");
        return (StatusCode::NOT_FOUND, page).into_response();
    };
    let Some(journey) = Journey::resume(&state, &headers, &wanted.state) else {
        return lost();
    };
    let away = Away {
        journey,
        connector: connector.connector(),
        attempt: Attempt::new(),
    };
    let sealed = seal(&state, Kind::Away, &away);
    let callback = callback_url(&state);
    match connector.begin(&away.attempt, &sealed, &callback).await {
        Ok(url) => redirect(StatusCode::FOUND, url.as_str()),
        Err(error) => failed(connector.as_ref(), from, &error, &away.journey.to),
    }
}

async fn come_back(
    State(state): State<ApiState>,
    from: CameFrom,
    headers: HeaderMap,
    Query(wanted): Query<LoginQuery>,
) -> Result<Response> {
    let away = open(&state, Kind::Away, &wanted.state);
    let Some(away) = away.filter(|away: &Away| away.journey.is_of(&headers)) else {
        return Ok(lost());
    };
    let Some(connector) = state.connectors.find(away.connector) else {
        return Ok(lost());
    };
    let identity = match wanted.error.as_str() {
        "" => {
            let callback = callback_url(&state);
            let found = connector.finish(&away.attempt, &wanted.code, &callback);
            found.await
        }
        error => Err(ConnectorError {
            connector: away.connector,
            fault: Fault::refused(error, &wanted.error_description),
        }),
    };
    let identity = match identity {
        Ok(identity) => identity,
        Err(error) => return Ok(failed(connector.as_ref(), from, &error, &away.journey.to)),
    };
    let user = identity.display_name().to_owned();
    let login = audit::Login {
        connector: away.connector,
        user: &user,
        path: CALLBACK,
        from,
    };
    let issued = state.auth.admit(identity).await?;
    login.succeeded();
    Ok(Code::redirect(&state, issued, &away.journey.sealed(&state)))
}

fn failed(
    connector: &dyn Redirecting,
    from: CameFrom,
    error: &ConnectorError,
    to: &str,
) -> Response {
    let login = audit::Login {
        connector: error.connector,
        user: "",
        path: CALLBACK,
        from,
    };
    login.failed(&chain(&error));
    let status = match error.fault {
        Fault::Refused(_) | Fault::EmailNotVerified => StatusCode::FORBIDDEN,
        _ => {
            tracing::error!(error = %chain(error), "login failed: its identity provider gave no answer");
            StatusCode::BAD_GATEWAY
        }
    };
    let why = error.for_users(connector.title());
    (status, pages::failed("Not logged in", &why, to)).into_response()
}

/// The address that providers were once given for coming back.
async fn old_callback(RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    redirect(
        StatusCode::MOVED_PERMANENTLY,
        &format!("{CALLBACK}?{query}"),
    )
}
