//! The frame of a visit to a page: the proof of a login is taken out of the address, and a
//! refusal becomes a page or the way to the login.

use airside_ui::NoPage;
use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, Method, StatusCode, Uri, header::ACCEPT};
use url::form_urlencoded;

use super::request::{html, shell_of};
use crate::{cookies, error::ApiError, fault::RequestFault, journey::redirect};

/// Parameter that a login appends to the address at which it ends.
const PROOF: &str = "csrf_token";

/// A request for a page, remembered while the page is made.
pub(crate) struct PageVisit {
    uri: Uri,
    headers: HeaderMap,
}

impl PageVisit {
    pub(crate) fn new(request: &Request) -> Self {
        Self {
            uri: request.uri().clone(),
            headers: request.headers().clone(),
        }
    }

    /// Returns the address without the proof of a login, if it has one: a proof in an address would
    /// stay in the browser's history.
    pub(crate) fn without_proof(&self) -> Option<String> {
        let query = self.uri.query()?;
        let named = |pair: &&str| pair.split('=').next() == Some(PROOF);
        if !query.split('&').any(|pair| named(&pair)) {
            return None;
        }
        let rest: Vec<_> = query.split('&').filter(|pair| !named(pair)).collect();
        let path = self.uri.path();
        Some(if rest.is_empty() {
            path.to_owned()
        } else {
            format!("{path}?{}", rest.join("&"))
        })
    }

    /// Makes a page of a refusal. Anything else stays as it is.
    pub(crate) fn explained(&self, response: Response) -> Response {
        let status = response.status();
        let here = self.uri.path_and_query().map_or("/", |it| it.as_str());
        if status == StatusCode::UNAUTHORIZED {
            return redirect(StatusCode::SEE_OTHER, &login_url(here));
        }
        if !status.is_client_error() && !status.is_server_error() {
            return response;
        }
        let user = cookies::token(&self.headers).map(|_| "");
        let mut page = refusal(status).page();
        page.marks.push(("status", status.as_u16().to_string()));
        let shell = shell_of(&self.headers, &self.uri, user);
        let mut explained = (status, html(page.render(&shell))).into_response();
        if let Some(fault) = response.extensions().get::<RequestFault>() {
            explained.extensions_mut().insert(fault.clone());
        }
        explained
    }
}

/// Answers what is not a route at all: browsers get a page, programs the status alone.
pub(crate) async fn unknown(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let reads = method == Method::GET || method == Method::HEAD;
    if !reads || uri.path().starts_with("/api/") || !takes_html(&headers) {
        return ApiError::NotFound.into_response();
    }
    let visit = PageVisit { uri, headers };
    visit.explained(StatusCode::NOT_FOUND.into_response())
}

fn takes_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    let mut types = accepted.filter_map(|value| value.to_str().ok());
    types.any(|types| types.contains("text/html"))
}

/// Returns the address of the login that leads back to a path of this server.
pub(crate) fn login_url(here: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("redirect_uri", here);
    format!("/sky/login?{}", query.finish())
}

fn refusal(status: StatusCode) -> NoPage {
    let (title, reason) = match status {
        StatusCode::FORBIDDEN => (
            "Not for you",
            "You are logged in, but this belongs to a team that you are not a member of. Ask one of its owners \
             to add you, or its members to expose the pipeline.",
        ),
        StatusCode::NOT_FOUND => (
            "Nothing here",
            "There is nothing at this address. It may have been renamed, archived or destroyed, or it was \
             mistyped.",
        ),
        StatusCode::SERVICE_UNAVAILABLE => (
            "Try again in a moment",
            "The server cannot reach its database right now. Running builds go on, and nothing is lost.",
        ),
        status if status.is_server_error() => (
            "The server failed",
            "The server failed to make this page. Its log says why.",
        ),
        _ => (
            "This address cannot be read",
            "A part of this address is not as it should be. Check what follows the question mark.",
        ),
    };
    NoPage {
        title: title.to_owned(),
        reason: reason.to_owned(),
        nearby: vec![("Dashboard".to_owned(), "/".to_owned())],
        login: None,
    }
}
