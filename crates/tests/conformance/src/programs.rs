//! The programs under test, as `make build` leaves them.

use std::path::PathBuf;

/// The airside command.
pub fn program() -> PathBuf {
    let path = std::env::var_os("AIRSIDE_BIN")
        .expect("AIRSIDE_BIN names the airside command; `make test-local` sets it");
    PathBuf::from(path)
}

/// The static shim beside it.
pub fn shim() -> PathBuf {
    let shim = program().with_file_name("airside-shim");
    assert!(
        shim.is_file(),
        "no shim at {}; run `make build`",
        shim.display()
    );
    shim
}
