//! Pages around a login: the form, what can come of it, and handing a token to fly. They stand
//! alone: no bars, no live stream, and no script but the one that hands the token over.

use askama::Template;

use crate::{asset_url, shell::rendered, symbols};

/// A page around a login, in its dress.
#[derive(Template)]
#[template(path = "login/page.html")]
struct LonePage<'a> {
    title: &'a str,
    icon: String,
    styles: String,
    script: Option<String>,
    symbols: String,
    content: &'a str,
}

fn page(title: &str, content: &str, script: Option<&str>) -> String {
    const MARK: &str = "<use href=\"#mark\"/>";
    rendered(&LonePage {
        title,
        icon: asset_url("icon.svg"),
        styles: asset_url("styles.css"),
        script: script.map(asset_url),
        symbols: symbols::used_in(&[MARK, content], &[]),
        content,
    })
}

/// The ways to log in, and the last try.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "login/form.html")]
pub struct LoginForm {
    /// Sealed state of the login under way.
    pub state: String,
    pub takes_passwords: bool,
    /// Name of the directory that checks passwords, too.
    pub directory: Option<String>,
    /// Name and title of each provider.
    pub providers: Vec<(&'static str, String)>,
    /// The name that was typed, and why it was not let in.
    pub tried: Option<(String, String)>,
    /// True if fly on the viewer's machine waits for this login.
    pub is_for_fly: bool,
}

impl LoginForm {
    /// Renders the page.
    pub fn render_page(&self) -> String {
        page("Log in", &rendered(self), None)
    }

    fn label(&self) -> String {
        match &self.directory {
            Some(title) => format!("User ({title} or local)"),
            None => "User".to_owned(),
        }
    }

    fn typed(&self) -> &str {
        self.tried.as_ref().map_or("", |(name, _)| name)
    }

    /// Returns true if the first field has the focus: not where a button stands before it.
    fn begins_with_user(&self) -> bool {
        self.tried.is_none() && self.providers.is_empty()
    }
}

/// The question whether to log out.
#[derive(Clone, Debug, Template)]
#[template(path = "login/logout.html")]
pub struct LogoutForm<'a> {
    pub csrf: &'a str,
}

impl LogoutForm<'_> {
    /// Renders the page.
    pub fn render_page(&self) -> String {
        page("Log out?", &rendered(self), None)
    }
}

/// A token for fly, to hand over or to copy.
#[derive(Clone, Debug, Template)]
#[template(path = "login/fly.html")]
pub struct FlyToken<'a> {
    pub token: &'a str,
    /// Address at which fly waits for the token, if it does.
    pub send: Option<String>,
}

impl FlyToken<'_> {
    /// Renders the page.
    pub fn render_page(&self) -> String {
        let script = self.send.as_ref().map(|_| "fly.js");
        page("Logged in", &rendered(self), script)
    }
}

/// A text with at most one way to go on.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "login/note.html")]
pub struct LoginNote<'a> {
    pub title: &'a str,
    pub text: &'a str,
    /// A text for machines, to copy.
    pub code: Option<&'a str>,
    /// True if the text tells of a failure.
    pub is_alert: bool,
    /// Text and address of the way to go on.
    pub onwards: Option<(&'a str, String)>,
}

impl LoginNote<'_> {
    /// Renders the page.
    pub fn render_page(&self) -> String {
        page(self.title, &rendered(self), None)
    }
}
