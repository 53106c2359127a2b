//! AdmissionReview, version v1, as far as it is used.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Question<'a> {
    api_version: String,
    kind: String,
    #[serde(borrow)]
    pub(super) request: Request<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request<'a> {
    pub(super) uid: String,
    #[serde(borrow)]
    pub(super) kind: Kind<'a>,
    pub(super) operation: String,
    #[serde(default)]
    pub(super) sub_resource: Option<String>,
    #[serde(default)]
    pub(super) namespace: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(borrow, default)]
    pub(super) object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) old_object: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Kind<'a> {
    #[serde(borrow)]
    pub(super) kind: Cow<'a, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReviewAnswer<'a> {
    api_version: &'a str,
    kind: &'a str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
}

impl<'a> ReviewAnswer<'a> {
    pub(super) fn new(question: &'a Question<'_>, patch: Option<Vec<u8>>) -> Self {
        Self {
            api_version: &question.api_version,
            kind: &question.kind,
            response: Response {
                uid: &question.request.uid,
                allowed: true,
                patch_type: patch.as_ref().map(|_| "JSONPatch"),
                patch: patch.map(|patch| STANDARD.encode(patch)),
            },
        }
    }
}
