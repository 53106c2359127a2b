//! Where others learn how to check the id tokens that this server gives to builds.
//!
//! No build gets one yet (there is no `idtoken` variable source), so no key is published, and whoever
//! trusts this issuer believes nobody.

use axum::{Json, extract::State};
use serde_json::{Value, json};

use crate::ApiState;

pub(crate) async fn discovery(State(state): State<ApiState>) -> Json<Value> {
    let issuer = &state.external_url;
    Json(json!({
        "issuer": &**issuer,
        "jwks_uri": format!("{issuer}/.well-known/jwks.json"),
        "claims_supported": ["aud", "iat", "iss", "sub"],
        "response_types_supported": ["idtoken"],
        "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        "subject_types_supported": ["public"],
    }))
}

pub(crate) async fn keys() -> Json<Value> {
    Json(json!({"keys": []}))
}
