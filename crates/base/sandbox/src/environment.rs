//! The part of the server's environment that a confined process gets.

use std::{
    ffi::{OsStr, OsString},
    sync::Once,
};

use tracing::warn;

const PASSED_ON: &[&str] = &[
    "PATH",
    "TZ",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "AWS_ENDPOINT_URL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

static WARNED: Once = Once::new();

/// The variables that a confined process gets after its environment was cleared, with their values.
/// A proxy's login stays behind: what the process does, it does for tenants.
pub fn passed_on() -> impl Iterator<Item = (&'static str, OsString)> {
    PASSED_ON.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        let shown = without_login(name, &value);
        if shown != value {
            WARNED.call_once(|| {
                warn!(
                    variable = name,
                    "proxy login withheld from checks and pulls: let the proxy know this machine by its address"
                );
            });
        }
        Some((*name, shown))
    })
}

/// The address of a proxy without user and password; any other value as it is.
fn without_login(name: &str, value: &OsStr) -> OsString {
    let is_proxy =
        name.eq_ignore_ascii_case("http_proxy") || name.eq_ignore_ascii_case("https_proxy");
    let Some(text) = value.to_str().filter(|_| is_proxy) else {
        return value.to_owned();
    };
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    format!("{scheme}{host}{path}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxys_login_is_not_passed_on() {
        for (name, value, shown) in [
            (
                "http_proxy",
                "http://ann:pw@proxy:3128/",
                "http://proxy:3128/",
            ),
            ("HTTPS_PROXY", "ann:p@w@proxy:3128", "proxy:3128"),
            (
                "https_proxy",
                "http://proxy:3128/a@b",
                "http://proxy:3128/a@b",
            ),
            ("no_proxy", "a@b,c", "a@b,c"),
            ("PATH", "/a@b", "/a@b"),
        ] {
            assert_eq!(
                without_login(name, OsStr::new(value)),
                shown,
                "{name}={value}"
            );
        }
    }
}
