//! The dashboard. Its cards are drawn by `dashboard.js` from a block of data in the page.

use askama::Template;

use crate::{Page, PageKind, SideBar, shell::rendered};

/// Symbols that `dashboard.js` draws.
const SYMBOLS: [&str; 12] = [
    "i-archive",
    "i-arrow-down",
    "i-arrow-up",
    "i-bolt",
    "i-bucket",
    "i-check-mark",
    "i-eye",
    "i-eye-off",
    "i-graph",
    "i-play",
    "i-pause",
    "i-stack",
];

/// The message to all users.
#[derive(Clone, Debug)]
pub struct WallMessage {
    pub message: String,
}

/// The pipelines that the viewer may see.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "dashboard.html")]
pub struct Dashboard {
    pub wall: Option<WallMessage>,
    /// True if the viewer may write on the wall.
    pub is_admin: bool,
    /// JSON of what the script draws: items, teams, the viewer's roles.
    pub data: String,
    /// The topic of the live stream, with the position of `data` if there is one.
    pub topic: String,
}

impl Dashboard {
    /// Makes the page.
    pub fn page(&self, side: &SideBar) -> Page {
        Page {
            title: "Dashboard".to_owned(),
            kind: PageKind::Flush,
            side: side.render_bar(),
            body: rendered(self),
            topics: vec![self.topic.clone()],
            scripts: vec!["dashboard.js"],
            symbols: SYMBOLS.to_vec(),
            has_search: true,
            ..Page::default()
        }
    }

    /// Returns the data as it may stand in a page: a text of a user cannot end the block.
    fn block(&self) -> String {
        self.data.replace('<', "\\u003c")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_do_not_leave_the_block_of_data() {
        let page = Dashboard {
            data: r#"{"live":{"items":[[1,"</script><script>alert(1)//","<!--"]]}}"#.to_owned(),
            ..Dashboard::default()
        };
        let body = page.page(&SideBar::default()).body;
        let (_, block) = body.split_once("id=\"dashboard-data\">").unwrap();
        let (block, rest) = block.split_once("</script>").unwrap();
        assert!(block.contains("\\u003c/script>") && !block.contains('<'));
        assert!(!rest.contains("alert"));
    }
}
