//! Pushes changes of pipelines, jobs, builds and workers to browsers, to each reader what it may see.
