//! A request for a page: its viewer, and the shell that its page gets.

use airside_auth::Action;
use airside_ui::{Page, Shell, Theme, fragments};
use axum::{
    extract::FromRequestParts,
    response::{Html, IntoResponse, Response},
};
use http::{HeaderMap, Uri, header::CONTENT_SECURITY_POLICY, request::Parts};
use url::form_urlencoded;

use super::POLICY;
use crate::{cookies, error::ApiError, scope::RequestScope};

/// A guarded request for a page.
pub(crate) struct PageRequest {
    pub(crate) scope: RequestScope,
    pub(crate) uri: Uri,
    shell: Shell,
}

impl PageRequest {
    /// Returns the first value of this name in the query.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        query_value(&self.uri, name)
    }

    /// Returns true if the page offers this action to its viewer: the viewer may do it, and the
    /// page can prove that the viewer meant to.
    pub(crate) fn may(&self, action: Action) -> bool {
        self.shell.csrf.is_some() && self.scope.may(action)
    }

    /// Answers with the page, or with the parts of it that `?part=` names.
    pub(crate) fn show(&self, page: &Page) -> Response {
        let text = match self.query("part") {
            Some(ids) => fragments(&page.body, &ids),
            None => page.render(&self.shell),
        };
        html(text)
    }
}

/// Answers with a page of the web UI.
pub(super) fn html(text: String) -> Response {
    ([(CONTENT_SECURITY_POLICY, POLICY)], Html(text)).into_response()
}

/// Makes the shell for a caller, as far as its request says who that is.
pub(super) fn shell_of(headers: &HeaderMap, uri: &Uri, user: Option<&str>) -> Shell {
    let here = uri.path_and_query().map_or("/", |it| it.as_str());
    let theme = cookies::theme(headers).unwrap_or_default();
    Shell {
        cluster: None,
        user: user.map(str::to_owned),
        csrf: user.and_then(|_| cookies::csrf(headers)).map(str::to_owned),
        theme: Theme::from_name(theme),
        here: here.to_owned(),
        bare: query_value(uri, "hide_ui").is_some_and(|it| it == "true"),
    }
}

fn query_value(uri: &Uri, name: &str) -> Option<String> {
    let query = uri.query().unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

impl<S: Sync> FromRequestParts<S> for PageRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let scope = RequestScope::from_request_parts(parts, state).await?;
        let user = scope
            .principal()
            .map(|principal| principal.display_user_id());
        let shell = shell_of(&parts.headers, &parts.uri, user);
        Ok(Self {
            uri: parts.uri.clone(),
            shell,
            scope,
        })
    }
}
