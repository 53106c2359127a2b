-- The object of a cluster that sets a pipeline, as it was last acted on. `hash` is keyed. A row goes with its pipeline,
-- when the pipeline is destroyed or renamed, and when the object is gone or counts no more.
CREATE TABLE pipeline_objects (
    pipeline_id BIGINT PRIMARY KEY REFERENCES pipelines (id) ON DELETE CASCADE,
    cluster TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    uid TEXT NOT NULL,
    generation BIGINT NOT NULL,
    hash TEXT NOT NULL,
    deletion_policy TEXT NOT NULL,
    -- The values of the object that were last acted on; null if it had none.
    applied_paused BOOLEAN,
    applied_exposed BOOLEAN
);
CREATE INDEX pipeline_objects_by_place ON pipeline_objects (cluster, namespace);

-- The build that was created for an object of a cluster, by the object's uid: one at most, however often it is asked
-- for. A row outlives its build, so that an object that is still there is not built again; collected 30 days after it
-- was made, once the build is gone.
CREATE TABLE build_requests (
    uid TEXT PRIMARY KEY,
    job_id BIGINT NOT NULL,
    -- 0 within the transaction that creates the build.
    build_id BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX build_requests_by_age ON build_requests (created_at);
CREATE INDEX build_requests_by_build ON build_requests (build_id);
