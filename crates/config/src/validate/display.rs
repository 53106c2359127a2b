//! A background image comes over HTTP or from beside the page.

use super::Checker;

pub(super) fn check(checker: &mut Checker<'_>) {
    let Some(display) = &checker.config.display else {
        return;
    };
    let image = &display.background_image;
    let Some((scheme, _)) = image.split_once(':') else {
        return;
    };
    // A colon behind a slash is part of a path.
    let is_scheme = scheme
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if is_scheme && !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        let message = "background_image scheme must be either http, https or relative";
        checker.plain_problem("display.background_image", message);
    }
}
