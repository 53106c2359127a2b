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
    "dash-cards.js": JS;
    "dash-cells.js": JS;
    "dash-data.js": JS;
    "dash-grid.js": JS;
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
    "lists.js": JS;
    "icon.svg": SVG;
    "icon-pending.svg": SVG;
    "icon-started.svg": SVG;
    "icon-succeeded.svg": SVG;
    "icon-failed.svg": SVG;
    "icon-errored.svg": SVG;
    "icon-aborted.svg": SVG;
};

/// The files as browsers get them.
static SERVED: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let served = FILES
        .iter()
        .map(|file| match std::str::from_utf8(file.bytes) {
            Ok(source) if file.content_type == JS => Asset {
                bytes: without_comments(source).leak().as_bytes(),
                ..*file
            },
            _ => *file,
        });
    served.collect()
});

/// Returns a script without lines that are comments and without indentation. Lines keep their
/// numbers, so that what a browser reports is found in the source.
fn without_comments(source: &str) -> String {
    let mut served = String::with_capacity(source.len());
    let mut in_comment = false;
    for line in source.lines().map(str::trim) {
        let begins = in_comment || line.starts_with("/**");
        if begins {
            in_comment = !line.ends_with("*/") && (in_comment || !line.contains("*/"));
        }
        let is_comment = (begins && (in_comment || line.ends_with("*/"))) || line.starts_with("//");
        if !is_comment {
            served.push_str(line);
        }
        served.push('\n');
    }
    served
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

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_are_not_served_and_lines_keep_their_numbers() {
        let source = "// a\nimport x;\n\n/**\n * b\n */\nf(); // stays\n  /** @type {c} */\n  \
                      /** @type {d} */ (e).g();\n/** one\n two */\nh('//');\n";
        let served = without_comments(source);
        assert_eq!(
            served,
            "\nimport x;\n\n\n\n\nf(); // stays\n\n/** @type {d} */ (e).g();\n\n\nh('//');\n"
        );
    }
}
