//! The addresses that a process reaches which connects to where tenants say.

use std::ffi::OsString;

/// First argument of a checker or puller that may reach link-local addresses.
pub const METADATA_ACCESS: &str = "--metadata-access";

/// Closes link-local addresses to this process, unless its arguments begin with
/// [`METADATA_ACCESS`]. Returns the other arguments.
pub fn limit_reach(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args = args.into_iter().peekable();
    if args.next_if(|first| first == METADATA_ACCESS).is_none() {
        airside_blocking_http::close_link();
    }
    args.collect()
}
