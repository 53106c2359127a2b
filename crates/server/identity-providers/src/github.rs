//! GitHub, and GitHub Enterprise: an OAuth app, and questions to the API about the user.

use std::time::Duration;

use airside_auth::{ConnectorName, Identity};
use async_trait::async_trait;
use reqwest::header::LINK;
use serde::{Deserialize, de::DeserializeOwned};
use url::Url;

use crate::{
    Attempt, ConnectorError, HttpError, Redirecting, Secret,
    error::{Fault, Result},
    http::{Http, HttpAnswer},
    oauth::{self, ClientAuth, OauthClient},
};

/// Most pages that are read: no user is in more organisations or teams than fit on these.
const PAGES: usize = 50;

#[derive(Clone, Debug)]
pub struct GithubConfig {
    /// Address of the pages: `https://github.com`, or a GitHub Enterprise.
    pub web: Url,
    /// Address of the API, with a slash at the end.
    pub api: Url,
    pub client_id: String,
    pub client_secret: Secret,
    pub ca: Option<Vec<u8>>,
    pub patience: Duration,
}

impl GithubConfig {
    /// `host` is a GitHub Enterprise's; without one it is github.com.
    pub fn new(
        host: Option<&str>,
        client_id: &str,
        client_secret: Secret,
    ) -> Result<Self, InvalidHost> {
        let (web, api) = match host {
            None => (
                "https://github.com/".to_owned(),
                "https://api.github.com/".to_owned(),
            ),
            Some(host) => {
                let host = host.trim_end_matches('/');
                let base = if host.contains("://") {
                    host.to_owned()
                } else {
                    format!("https://{host}")
                };
                (format!("{base}/"), format!("{base}/api/v3/"))
            }
        };
        let invalid = || InvalidHost(host.unwrap_or_default().to_owned());
        Ok(Self {
            web: web.parse().map_err(|_| invalid())?,
            api: api.parse().map_err(|_| invalid())?,
            client_id: client_id.to_owned(),
            client_secret,
            ca: None,
            patience: crate::REQUEST_TIMEOUT,
        })
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not the name of a host")]
pub struct InvalidHost(String);

pub struct Github {
    web: Url,
    api: Url,
    client: OauthClient,
    http: Http,
}

#[derive(Deserialize)]
struct User {
    id: u64,
    login: String,
    name: Option<String>,
    email: Option<String>,
}

#[derive(Deserialize)]
struct Email {
    email: String,
    primary: bool,
    verified: bool,
}

#[derive(Deserialize)]
struct Organisation {
    login: String,
}

#[derive(Deserialize)]
struct Team {
    name: String,
    slug: String,
    organization: Organisation,
}

impl Github {
    pub fn new(config: GithubConfig) -> Result<Self, HttpError> {
        Ok(Self {
            web: config.web,
            api: config.api,
            client: OauthClient {
                id: config.client_id,
                secret: config.client_secret,
            },
            http: Http::new(config.ca.as_deref(), config.patience)?,
        })
    }

    async fn identify(&self, attempt: &Attempt, code: &str, callback: &str) -> Result<Identity> {
        let endpoint = join(&self.web, "login/oauth/access_token");
        let client = &self.client;
        let exchanged = oauth::exchange(
            &self.http,
            &endpoint,
            client,
            ClientAuth::Form,
            attempt,
            code,
            callback,
        );
        let token = exchanged.await?.access_token;
        let user: User = self.get("user", &token).await?.json()?;
        Ok(Identity {
            connector: ConnectorName::Github,
            user_id: user.id.to_string(),
            name: user.name.unwrap_or_else(|| user.login.clone()),
            user_name: user.login,
            email: match user.email {
                Some(email) => email,
                None => self.email(&token).await,
            },
            groups: self.groups(&token).await?,
        })
    }

    /// The primary address, if the user lets us see it.
    async fn email(&self, token: &str) -> String {
        let emails: Vec<Email> = self.list("user/emails", token).await.unwrap_or_default();
        let mut shown = emails
            .into_iter()
            .filter(|email| email.primary && email.verified);
        shown.next().map(|email| email.email).unwrap_or_default()
    }

    /// Each organisation as `org`; each team as `org:name` and as `org:slug`.
    async fn groups(&self, token: &str) -> Result<Vec<String>> {
        let organisations: Vec<Organisation> = self.list("user/orgs", token).await?;
        let teams: Vec<Team> = self.list("user/teams", token).await?;
        let mut groups = Vec::new();
        for Organisation { login } in organisations {
            let own = teams.iter().filter(|team| team.organization.login == login);
            for team in own {
                groups.push(format!("{login}:{}", team.name));
                if team.slug != team.name {
                    groups.push(format!("{login}:{}", team.slug));
                }
            }
            groups.push(login);
        }
        Ok(groups)
    }

    async fn get(&self, path: &str, token: &str) -> Result<HttpAnswer> {
        self.http.get(&join(&self.api, path), Some(token)).await
    }

    /// All pages of a list.
    async fn list<T: DeserializeOwned>(&self, path: &str, token: &str) -> Result<Vec<T>> {
        let mut url = join(&self.api, path);
        url.query_pairs_mut().append_pair("per_page", "100");
        let mut items = Vec::new();
        for _ in 0..PAGES {
            let answer = self.http.get(&url, Some(token)).await?;
            items.extend(answer.json::<Vec<T>>()?);
            let links = answer.headers.get(LINK).and_then(|link| link.to_str().ok());
            let Some(next) = links.and_then(next_page) else {
                return Ok(items);
            };
            // The token goes nowhere else.
            if next.origin() != self.api.origin() {
                return Err(answer.garbage("its next page is on another host"));
            }
            url = next;
        }
        Err(Fault::Garbage {
            at: url.path().to_owned(),
            why: format!("it has more than {PAGES} pages"),
        })
    }
}

fn join(base: &Url, path: &str) -> Url {
    base.join(path).expect("a plain path joins any base")
}

/// The page after this one, from a `Link` header.
fn next_page(links: &str) -> Option<Url> {
    let mut links = links.split(',').filter_map(|link| link.split_once('>'));
    let (url, _) = links.find(|(_, parameters)| {
        let mut parameters = parameters.split(';').map(str::trim);
        parameters.any(|parameter| parameter == "rel=\"next\"" || parameter == "rel=next")
    })?;
    url.trim().strip_prefix('<')?.parse().ok()
}

#[async_trait]
impl Redirecting for Github {
    fn connector(&self) -> ConnectorName {
        ConnectorName::Github
    }

    fn title(&self) -> &str {
        "GitHub"
    }

    async fn begin(
        &self,
        attempt: &Attempt,
        state: &str,
        callback: &str,
    ) -> Result<Url, ConnectorError> {
        let endpoint = join(&self.web, "login/oauth/authorize");
        let scopes = ["user:email", "read:org"].map(str::to_owned);
        let client = &self.client;
        Ok(oauth::authorization_url(
            &endpoint, client, &scopes, attempt, state, callback,
        ))
    }

    async fn finish(
        &self,
        attempt: &Attempt,
        code: &str,
        callback: &str,
    ) -> Result<Identity, ConnectorError> {
        let identity = self.identify(attempt, code, callback).await;
        identity.map_err(|fault| ConnectorError {
            connector: ConnectorName::Github,
            fault,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_the_one_called_next() {
        let next = |links: &str| next_page(links).map(String::from);
        let url = "https://api.github.com/user/orgs?page=2";
        assert_eq!(
            next(&format!(
                "<https://x/1>; rel=\"prev\", <{url}>; rel=\"next\""
            )),
            Some(url.to_owned())
        );
        for none in [
            "",
            "<https://x/1>; rel=\"last\"",
            "rel=\"next\"",
            "<no url>; rel=\"next\"",
        ] {
            assert_eq!(next(none), None, "{none}");
        }
    }

    #[test]
    fn an_enterprise_has_its_api_under_its_own_host() {
        let urls = |host| {
            let config = GithubConfig::new(host, "id", Secret::new("s")).unwrap();
            (config.web.to_string(), config.api.to_string())
        };
        let pair = |web: &str, api: &str| (web.to_owned(), api.to_owned());
        assert_eq!(
            urls(None),
            pair("https://github.com/", "https://api.github.com/")
        );
        assert_eq!(
            urls(Some("git.example.com")),
            pair(
                "https://git.example.com/",
                "https://git.example.com/api/v3/"
            )
        );
        assert!(GithubConfig::new(Some("a b"), "id", Secret::new("s")).is_err());
    }
}
