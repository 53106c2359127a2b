//! Styles, scripts and pictures, compiled in. One edition names all of them, so that modules import
//! each other by relative paths and browsers keep them for a year.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

use crate::squeeze;

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
    "build-find.js": JS;
    "build-keys.js": JS;
    "log.js": JS;
    "log-colour.js": JS;
    "log-find.js": JS;
    "log-lines.js": JS;
    "log-row.js": JS;
    "actions.js": JS;
    "dash-cards.js": JS;
    "dash-cells.js": JS;
    "dash-data.js": JS;
    "dash-grid.js": JS;
    "dash-keys.js": JS;
    "dash-order.js": JS;
    "dash-search.js": JS;
    "dash-side.js": JS;
    "dashboard.js": JS;
    "dom.js": JS;
    "fragment.js": JS;
    "graph.js": JS;
    "keys.js": JS;
    "live-worker.js": JS;
    "live.js": JS;
    "palette.js": JS;
    "search.js": JS;
    "side.js": JS;
    "stars.js": JS;
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

/// The sheet that all others are served in, in their order: as one, they are fewer bytes.
const SHEET: &str = "styles.css";

/// The files as browsers get them.
static SERVED: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let (sheets, others): (Vec<_>, Vec<_>) =
        FILES.iter().partition(|file| file.content_type == CSS);
    let mut served: Vec<Asset> = others.into_iter().map(served_file).collect();
    let sheet: String = sheets
        .into_iter()
        .map(source)
        .map(squeeze::styles)
        .collect();
    served.push(Asset {
        name: SHEET,
        content_type: CSS,
        bytes: sheet.leak().as_bytes(),
    });
    served
});

fn served_file(file: &Asset) -> Asset {
    match file.content_type {
        JS => Asset {
            bytes: squeeze::script(source(file)).leak().as_bytes(),
            ..*file
        },
        _ => *file,
    }
}

fn source(file: &Asset) -> &'static str {
    std::str::from_utf8(file.bytes).expect("scripts and styles of this crate are UTF-8")
}

static EDITION: LazyLock<String> = LazyLock::new(|| {
    let mut all = Sha256::new();
    for file in SERVED.iter() {
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
    SERVED.iter().find(|file| file.name == name).copied()
}

/// Returns all assets, as browsers get them.
pub fn assets() -> &'static [Asset] {
    &SERVED
}

/// Returns the address of an asset.
pub fn asset_url(name: &str) -> String {
    format!("/airside/assets/{}/{name}", edition())
}
