//! Documents with which other services check the id tokens that this server gives to builds.

use airside_model::chain;
use axum::{Json, extract::State};
use serde_json::{Value, json};
use tracing::error;

use crate::{
    ApiState,
    error::{ApiError, Result},
};

pub(crate) async fn discovery(State(state): State<ApiState>) -> Result<Json<Value>> {
    let issuer = state.id_tokens()?.issuer();
    Ok(Json(json!({
        "issuer": issuer,
        "jwks_uri": format!("{issuer}/.well-known/jwks.json"),
        "claims_supported": ["aud", "iat", "iss", "sub"],
        "response_types_supported": ["idtoken"],
        "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        "subject_types_supported": ["public"],
    })))
}

pub(crate) async fn keys(State(state): State<ApiState>) -> Result<Json<Value>> {
    let keys = state.id_tokens()?.public_keys().await;
    keys.map(Json).map_err(|error| {
        error!(error = %chain(&error), "keys of id tokens not published");
        ApiError::Internal("the keys of id tokens cannot be read; the server's log says why")
    })
}
