-- Resources have histories: `scope` is the number of the one they have now. It grows when the source or
-- the type changes, and versions of other scopes are not there until they are found again. `pin` is the
-- version (JSON) that inputs are held to, by somebody's word or, if `pin_in_config`, the configuration's.
ALTER TABLE resources ADD COLUMN scope BIGINT NOT NULL DEFAULT 0;
ALTER TABLE resources ADD COLUMN pin TEXT;
ALTER TABLE resources ADD COLUMN pin_in_config BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE resources ADD COLUMN pin_comment TEXT NOT NULL DEFAULT '';

-- A row's id stands for its content within a resource, for as long as anything refers to it. Versions
-- that checks find again cost nothing to forget, so those of before are. Collected with their resource,
-- and once they are of no scope and no build had them.
DROP TABLE resource_versions;
CREATE TABLE resource_versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    resource_id BIGINT NOT NULL REFERENCES resources (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    version TEXT NOT NULL,
    metadata TEXT NOT NULL,
    scope BIGINT NOT NULL,
    check_order BIGINT NOT NULL,
    enabled BOOLEAN NOT NULL DEFAULT TRUE,
    UNIQUE (resource_id, digest)
);
CREATE INDEX resource_versions_by_order ON resource_versions (resource_id, scope, check_order);

-- The pairs of versions that have more than one, each as a digest: for pins that name some of them.
-- Scope and place are the version's. Collected with it.
CREATE TABLE version_pairs (
    version_id BIGINT NOT NULL REFERENCES resource_versions (id) ON DELETE CASCADE,
    pair TEXT NOT NULL,
    resource_id BIGINT NOT NULL,
    scope BIGINT NOT NULL,
    check_order BIGINT NOT NULL,
    PRIMARY KEY (version_id, pair)
);
CREATE INDEX version_pairs_by_order ON version_pairs (resource_id, pair, scope, check_order);

-- `manual`: somebody asked for it, so that it waits for fresh checks. `inputs_ready`: it has its inputs and
-- holds its place among its job's running builds. A rerun stands right behind its original.
ALTER TABLE builds ADD COLUMN manual BOOLEAN NOT NULL DEFAULT TRUE;
ALTER TABLE builds ADD COLUMN inputs_ready BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE builds ADD COLUMN rerun_of BIGINT;
ALTER TABLE builds ADD COLUMN rerun_number BIGINT NOT NULL DEFAULT 0;
ALTER TABLE builds ADD COLUMN comment TEXT NOT NULL DEFAULT '';
CREATE INDEX builds_reruns ON builds (rerun_of) WHERE rerun_of IS NOT NULL;
DROP INDEX builds_unfinished_by_job;
CREATE INDEX builds_unfinished_by_job ON builds (job_id, (coalesce(rerun_of, id)), id)
    WHERE status IN ('pending', 'started');
DROP INDEX builds_finished_by_job;
CREATE INDEX builds_finished_by_job ON builds (job_id, (coalesce(rerun_of, id)), id)
    WHERE status NOT IN ('pending', 'started');
CREATE INDEX builds_unfinished_by_pipeline ON builds (pipeline_id, id)
    WHERE status IN ('pending', 'started');

-- What a build took in and put out. Collected with the build.
CREATE TABLE build_inputs (
    build_id BIGINT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    version_id BIGINT NOT NULL REFERENCES resource_versions (id) ON DELETE CASCADE,
    first_occurrence BOOLEAN NOT NULL,
    PRIMARY KEY (build_id, name)
);
CREATE INDEX build_inputs_by_version ON build_inputs (version_id, build_id);
CREATE TABLE build_outputs (
    build_id BIGINT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    version_id BIGINT NOT NULL REFERENCES resource_versions (id) ON DELETE CASCADE,
    PRIMARY KEY (build_id, name, version_id)
);
CREATE INDEX build_outputs_by_version ON build_outputs (version_id, build_id);

-- From which upstream builds a build's inputs came. Collected with either build.
CREATE TABLE build_pipes (
    to_build BIGINT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    from_build BIGINT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    PRIMARY KEY (to_build, from_build)
);
CREATE INDEX build_pipes_by_from ON build_pipes (from_build);

-- What succeeded builds carry on to the jobs after them: outputs before inputs. Collected with the build.
CREATE TABLE build_carries (
    build_id BIGINT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    resource_id BIGINT NOT NULL,
    version_id BIGINT NOT NULL REFERENCES resource_versions (id) ON DELETE CASCADE,
    job_id BIGINT NOT NULL,
    original_id BIGINT NOT NULL,
    is_output BOOLEAN NOT NULL,
    PRIMARY KEY (build_id, resource_id, version_id)
);
CREATE INDEX build_carries_by_resource
    ON build_carries (job_id, resource_id, original_id, build_id);
CREATE INDEX build_carries_by_version
    ON build_carries (job_id, version_id, original_id, build_id);
CREATE INDEX build_carries_of_version ON build_carries (version_id);

-- Which versions a job ever had as which input, each with the newest such build; scope and place are the
-- version's. Collected with the job and with the version.
CREATE TABLE job_uses (
    job_id BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    version_id BIGINT NOT NULL REFERENCES resource_versions (id) ON DELETE CASCADE,
    resource_id BIGINT NOT NULL,
    scope BIGINT NOT NULL,
    check_order BIGINT NOT NULL,
    build_id BIGINT NOT NULL,
    PRIMARY KEY (job_id, name, version_id)
);
CREATE INDEX job_uses_by_order ON job_uses (job_id, resource_id, scope, check_order, build_id);
CREATE INDEX job_uses_by_version ON job_uses (version_id);

-- What the next build of a job would get, or why an input has no version. `inputs_determined`: all have.
-- `has_new_inputs`: one was never used by the job. Collected with the job.
ALTER TABLE jobs ADD COLUMN inputs_determined BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE jobs ADD COLUMN has_new_inputs BOOLEAN NOT NULL DEFAULT FALSE;
CREATE TABLE next_inputs (
    job_id BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    version_id BIGINT REFERENCES resource_versions (id) ON DELETE CASCADE,
    first_occurrence BOOLEAN NOT NULL,
    error TEXT NOT NULL,
    PRIMARY KEY (job_id, name)
);
CREATE INDEX next_inputs_by_version ON next_inputs (version_id);
