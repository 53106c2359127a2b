//! The page that offers fly.

use askama::Template;

use crate::{Crumb, Page, shell::rendered};

/// The programs that this server gives out.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "download.html")]
pub struct DownloadPage {
    /// Version of fly that this server speaks.
    pub version: String,
    pub external_url: String,
    pub programs: Vec<FlyProgram>,
}

/// fly for one kind of machine.
#[derive(Clone, Debug)]
pub struct FlyProgram {
    pub system: &'static str,
    pub machine: &'static str,
    pub href: String,
}

impl DownloadPage {
    /// Makes the page.
    pub fn page(&self) -> Page {
        Page {
            title: "Get fly".to_owned(),
            crumbs: vec![Crumb::new("Get fly", "/download-fly")],
            body: rendered(self),
            ..Page::default()
        }
    }
}
