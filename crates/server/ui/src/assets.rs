//! Styles, scripts and pictures, compiled in. One edition names all of them, so that modules import
//! each other by relative paths and browsers keep them for a year.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

/// A file that pages load.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    pub name: &'static str,
    pub content_type: &'static str,
    pub bytes: &'static [u8],
}

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! files {
    ($($name:literal: $kind:expr;)*) => {
        &[$(Asset {
            name: $name,
            content_type: $kind,
            bytes: include_bytes!(concat!("../assets/", $name)),
        }),*]
    };
}

const FILES: &[Asset] = files! {
    "tokens.css": CSS;
    "base.css": CSS;
    "parts.css": CSS;
    "more.css": CSS;
    "page.js": JS;
    "build.js": JS;
    "log.js": JS;
    "log-colour.js": JS;
    "log-find.js": JS;
    "log-lines.js": JS;
    "log-row.js": JS;
    "actions.js": JS;
    "dom.js": JS;
    "fragment.js": JS;
    "graph.js": JS;
    "keys.js": JS;
    "live.js": JS;
    "live-worker.js": JS;
    "palette.js": JS;
    "search.js": JS;
    "side.js": JS;
    "stream.js": JS;
    "times.js": JS;
    "fly.js": JS;
    "lists.js": JS;
    "icon.svg": SVG;
    "icon-pending.svg": SVG;
    "icon-started.svg": SVG;
    "icon-succeeded.svg": SVG;
    "icon-failed.svg": SVG;
    "icon-errored.svg": SVG;
    "icon-aborted.svg": SVG;
};

static EDITION: LazyLock<String> = LazyLock::new(|| {
    let mut all = Sha256::new();
    for file in FILES {
        all.update(file.name);
        all.update(file.bytes);
    }
    let mut digest = hex::encode(all.finalize());
    digest.truncate(12);
    digest
});

/// Returns the name of this set of assets; another build with other files has another.
pub fn edition() -> &'static str {
    &EDITION
}

/// Returns the asset of this name.
pub fn asset(name: &str) -> Option<Asset> {
    FILES.iter().find(|file| file.name == name).copied()
}

/// Returns the address of an asset.
pub fn asset_url(name: &str) -> String {
    format!("/airside/assets/{}/{name}", edition())
}
