-- What of a node's outcome may not be read from the database: values of variables. Sealed.
ALTER TABLE build_nodes ADD COLUMN hidden BLOB;

-- When a node of a plan first began, for timeouts, and what it settled then so that it does the same
-- after a crash (sealed). Collected with the build.
CREATE TABLE build_node_starts (
    build_id BIGINT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    plan_id TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    settled BLOB,
    PRIMARY KEY (build_id, plan_id)
);

-- Folders that a task keeps from one build to the next. Collected with the job, and by clearing.
CREATE TABLE task_caches (
    job_id BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    step TEXT NOT NULL,
    path TEXT NOT NULL,
    volume_id TEXT NOT NULL REFERENCES volumes (id) ON DELETE CASCADE,
    -- Forgotten when unused from then on; none: never.
    expires_at BIGINT,
    PRIMARY KEY (job_id, step, path)
);
CREATE INDEX task_caches_by_volume ON task_caches (volume_id);

-- Volumes that a build uses though another made them: they stay until it ends. Collected with it.
CREATE TABLE volume_uses (
    build_id BIGINT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    volume_id TEXT NOT NULL REFERENCES volumes (id) ON DELETE CASCADE,
    PRIMARY KEY (build_id, volume_id)
);
CREATE INDEX volume_uses_by_volume ON volume_uses (volume_id);

-- The build that set the pipeline last, if a build did, and its job.
ALTER TABLE pipelines ADD COLUMN parent_job_id BIGINT;
ALTER TABLE pipelines ADD COLUMN parent_build_id BIGINT;
