//! A background image comes over HTTP or from beside the page.

use super::Checker;

pub(super) fn check(checker: &mut Checker<'_>) {
    let Some(display) = &checker.config.display else {
        return;
    };
    let image = &display.background_image;
    let message = match scheme(image) {
        Err(()) => format!("background_image is not a valid URL: {image}"),
        Ok(Some(scheme)) if !matches!(scheme.as_str(), "http" | "https") => {
            "background_image scheme must be either http, https or relative".to_owned()
        }
        Ok(_) => return,
    };
    checker.plain_problem("display.background_image", message);
}

/// Returns the part before the first colon if it is a scheme.
fn scheme(url: &str) -> Result<Option<String>, ()> {
    if url.chars().any(|c| c.is_ascii_control()) || !percents_are_sound(url) {
        return Err(());
    }
    let Some((before, _)) = url.split_once(':') else {
        return Ok(None);
    };
    // A colon behind a slash or question mark is part of a path.
    if before.contains(['/', '?', '#']) {
        return Ok(None);
    }
    let is_scheme = before.starts_with(|c: char| c.is_ascii_alphabetic())
        && before
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if is_scheme {
        Ok(Some(before.to_ascii_lowercase()))
    } else {
        Err(())
    }
}

fn percents_are_sound(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.split('%').skip(1).all(|rest| {
        let digits = rest.bytes().take(2).filter(u8::is_ascii_hexdigit);
        digits.count() == 2
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes() {
        for url in ["", "a.png", "/a:b", "a?b:c", "#x:y"] {
            assert_eq!(scheme(url), Ok(None), "{url}");
        }
        assert_eq!(scheme("HTTPS://x/%20"), Ok(Some("https".into())));
        assert_eq!(scheme("data:image/png"), Ok(Some("data".into())));
        for url in [":x", "a b:c", "http://x/%zz", "http://x/%1", "a\nb", "1a:b"] {
            assert_eq!(scheme(url), Err(()), "{url}");
        }
    }
}
