//! GitHub's refusals, in words for the build's log.

use std::time::Duration;

use airside_blocking_http::Response;
use jiff::Timestamp;

use super::settings::GithubRepository;
use crate::Failure;

/// Returns the answer if it is a success, or else what it means for the user.
pub(super) fn success(
    response: Response,
    method: &'static str,
    place: &GithubRepository,
) -> Result<Response, Failure> {
    if response.is_success() {
        return Ok(response);
    }
    let limit = RateLimit::read(&response);
    let error = match response.success(method) {
        Ok(response) => return Ok(response),
        Err(error) => error,
    };
    let status = error.status().unwrap_or_default();
    if let Some(limit) = limit.filter(|_| matches!(status, 403 | 429)) {
        return Err(limit.failure(status, place.token.is_some()));
    }
    let words = match (status, &place.token) {
        (401, _) => "is source.access_token right?",
        (403, None) => "does it need a source.access_token?",
        (403, Some(_)) => "may source.access_token do this?",
        (404, None) => {
            "does the repository have this, and can it be seen without a source.access_token?"
        }
        (404, Some(_)) => "does the repository have this, and may source.access_token see it?",
        _ => return Err(error.into()),
    };
    let (owner, repository) = (&place.owner, &place.repository);
    Err(Failure::Refused {
        status,
        retry_after: error.retry_after(),
        words: format!(
            "GitHub refuses {owner}/{repository}: {words} ({})",
            airside_model::chain(&error)
        ),
    })
}

/// The end of the time in which GitHub answers no more requests.
struct RateLimit {
    wait: Option<Duration>,
    /// The moment it ends, as GitHub says it.
    reset: Option<Timestamp>,
}

impl RateLimit {
    fn read(response: &Response) -> Option<Self> {
        let number = |name: &str| response.header(name)?.trim().parse::<i64>().ok();
        let wait = number("retry-after").and_then(|seconds| u64::try_from(seconds).ok());
        let is_used_up = number("x-ratelimit-remaining") == Some(0);
        let reset = number("x-ratelimit-reset").filter(|_| is_used_up);
        let reset = reset.and_then(|second| Timestamp::from_second(second).ok());
        let until = |reset: Timestamp| {
            let left = reset.as_second() - Timestamp::now().as_second();
            Duration::from_secs(u64::try_from(left).unwrap_or_default())
        };
        let wait = wait.map(Duration::from_secs).or_else(|| reset.map(until));
        (is_used_up || response.status == 429 || wait.is_some()).then_some(Self { wait, reset })
    }

    fn failure(&self, status: u16, has_token: bool) -> Failure {
        let until = match (self.reset, self.wait) {
            (Some(reset), _) => format!(" until {reset}"),
            (None, Some(wait)) => format!(" for {} seconds", wait.as_secs()),
            (None, None) => String::new(),
        };
        let advice = if has_token {
            "give the resource a longer check_every, or a webhook"
        } else {
            "requests without source.access_token share the few of their address; give one"
        };
        Failure::Refused {
            status,
            retry_after: self.wait,
            words: format!("GitHub's rate limit allows no requests{until}: {advice}"),
        }
    }
}
