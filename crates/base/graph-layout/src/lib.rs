//! Places the jobs and resources of a pipeline in layers, and routes the edges between them; no I/O.
