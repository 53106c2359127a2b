//! The side bar: places of the installation, and the room for favourites and teams.

use askama::Template;

use crate::shell::rendered;

/// The place in the side bar that a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SidePlace {
    #[default]
    Dashboard,
    Builds,
    Workers,
    Teams,
}

/// The side bar of a page.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "side.html")]
pub struct SideBar {
    pub place: SidePlace,
    /// Number of workers that run; strangers are not told.
    pub workers: Option<usize>,
    /// Version of this server.
    pub version: String,
    /// Version of `fly` that the server speaks with.
    pub fly_version: String,
}

impl SideBar {
    /// Renders the bar for `Page::side`.
    pub fn render_bar(&self) -> String {
        rendered(self)
    }

    fn at(&self, place: SidePlace) -> &'static str {
        if self.place == place {
            " aria-current=\"page\""
        } else {
            ""
        }
    }
}
