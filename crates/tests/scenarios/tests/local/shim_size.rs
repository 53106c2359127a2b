//! The shim travels to every step, so its size has a limit: see decision 46.

use airside_scenarios::Environment;

/// Bytes of the static shim. A change that needs more changes the decision first.
const MAX_SHIM_BYTES: u64 = 6_000_000;

#[test]
fn the_shim_keeps_within_its_limit() {
    let shim = Environment::get().airside.with_file_name("airside-shim");
    let bytes = std::fs::metadata(&shim).unwrap().len();
    assert!(
        bytes <= MAX_SHIM_BYTES,
        "{} has {bytes} bytes, and may have {MAX_SHIM_BYTES}",
        shim.display()
    );
}
