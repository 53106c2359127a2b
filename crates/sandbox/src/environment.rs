//! The environment of a confined process.

use std::ffi::OsString;

/// Variables of the server's environment that a confined process is told: where programs, certificates and proxies
/// are. Keys of any kind are not among them.
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

/// The variables that a confined process gets after its environment was cleared, with their values.
pub fn passed_on() -> impl Iterator<Item = (&'static str, OsString)> {
    PASSED_ON
        .iter()
        .filter_map(|name| Some((*name, std::env::var_os(name)?)))
}
