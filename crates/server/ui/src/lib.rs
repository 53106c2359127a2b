//! The pages of the web UI: views in, HTML, SVG and assets out; no I/O.
