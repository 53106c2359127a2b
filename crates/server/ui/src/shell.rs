//! The shell around every page: head, top bar, side bar.

use askama::Template;

use crate::{PageStatus, asset_url, edition, symbols};

/// A page's colours: the system's, or the ones that the viewer chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    /// Reads a theme's name; any other text is the system's theme.
    pub fn from_name(name: &str) -> Self {
        match name {
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => Self::System,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// One place on the way to a page, from the top.
#[derive(Clone, Debug)]
pub struct Crumb {
    pub text: String,
    pub href: String,
    /// Instance vars of a pipeline, as text.
    pub vars: Option<String>,
}

impl Crumb {
    /// Makes a crumb without instance vars.
    pub fn new(text: impl Into<String>, href: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            href: href.into(),
            vars: None,
        }
    }
}

/// The part of a page that depends on its viewer and its address, not on its content.
#[derive(Clone, Debug, Default)]
pub struct Shell {
    /// Name of the installation.
    pub cluster: Option<String>,
    /// Name of the viewer; none for strangers.
    pub user: Option<String>,
    /// Value that requests which change something prove their page with.
    pub csrf: Option<String>,
    pub theme: Theme,
    /// Path and query of the page, to come back to after a login.
    pub here: String,
    /// True if a wall monitor wants the content alone (`hide_ui`).
    pub bare: bool,
}

/// The way a page fills the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageKind {
    /// Content with padding.
    #[default]
    Padded,
    /// A page that draws its own head, from edge to edge.
    Flush,
    /// A short text in the middle.
    Middle,
}

/// The content of a page, ready for its shell.
#[derive(Clone, Debug, Default)]
pub struct Page {
    pub title: String,
    pub kind: PageKind,
    pub crumbs: Vec<Crumb>,
    /// The rendered side bar, if the page has one.
    pub side: String,
    pub body: String,
    /// Topics of the live stream, such as `build:12`.
    pub topics: Vec<String>,
    /// Modules beside `page.js`.
    pub scripts: Vec<&'static str>,
    /// Symbols that the modules draw.
    pub symbols: Vec<&'static str>,
    /// Marks of the page that tests look for, such as (`team-name`, `main`).
    pub marks: Vec<(&'static str, String)>,
    /// True if the top bar has the search of the dashboard.
    pub has_search: bool,
    /// Status that the icon of the browser's tab shows.
    pub status: Option<PageStatus>,
}

impl Page {
    /// Renders the page within its shell.
    pub fn render(&self, shell: &Shell) -> String {
        let top = Top {
            has_side: !self.side.is_empty(),
            has_search: self.has_search,
            cluster: shell.cluster.as_deref(),
            crumbs: &self.crumbs,
            user: shell.user.as_deref(),
            initial: initial(shell.user.as_deref()),
            here: &shell.here,
        };
        let top = rendered(&top);
        let scripts = std::iter::once(&"page.js").chain(&self.scripts);
        let whole = Whole {
            title: &self.title,
            theme: shell.theme.name(),
            csrf: shell.csrf.as_deref(),
            edition: edition(),
            topics: self.topics.join(" "),
            icon: asset_url(&icon_name(self.status)),
            styles: asset_url("styles.css"),
            scripts: scripts.map(|name| asset_url(name)).collect(),
            marks: marks(&self.marks),
            symbols: symbols::used_in(&[&top, &self.side, &self.body], &self.symbols),
            bare: shell.bare,
            top,
            side: if shell.bare { "" } else { &self.side },
            main_class: match self.kind {
                PageKind::Padded => "page",
                PageKind::Flush => "page-flush",
                PageKind::Middle => "middle",
            },
            body: &self.body,
        };
        rendered(&whole)
    }
}

/// Returns the file of the icon for the browser's tab.
fn icon_name(status: Option<PageStatus>) -> String {
    use PageStatus::{Paused, Skipped};
    match status {
        None | Some(Paused | Skipped) => "icon.svg".to_owned(),
        Some(status) => format!("icon-{}.svg", status.name()),
    }
}

fn initial(user: Option<&str>) -> String {
    let first = user.and_then(|user| user.chars().next());
    first.map_or_else(String::new, |first| first.to_uppercase().collect())
}

fn marks(marks: &[(&'static str, String)]) -> String {
    let escape = |text: &str| {
        askama::filters::escape(text, askama::filters::Html)
            .map_or_else(|never| match never {}, |safe| safe.to_string())
    };
    let written = marks
        .iter()
        .map(|(name, value)| format!(" data-{name}=\"{}\"", escape(value)));
    written.collect()
}

/// Renders a template. Writing into a text does not fail.
pub(crate) fn rendered(template: &impl Template) -> String {
    template
        .render()
        .expect("templates of this crate write into memory and call nothing that fails")
}

#[derive(Template)]
#[template(path = "shell.html")]
struct Whole<'a> {
    title: &'a str,
    theme: &'static str,
    csrf: Option<&'a str>,
    edition: &'static str,
    topics: String,
    icon: String,
    styles: String,
    scripts: Vec<String>,
    marks: String,
    symbols: String,
    bare: bool,
    top: String,
    side: &'a str,
    main_class: &'static str,
    body: &'a str,
}

#[derive(Template)]
#[template(path = "top.html")]
struct Top<'a> {
    has_side: bool,
    has_search: bool,
    cluster: Option<&'a str>,
    crumbs: &'a [Crumb],
    user: Option<&'a str>,
    initial: String,
    here: &'a str,
}
