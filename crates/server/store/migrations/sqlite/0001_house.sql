-- Times are microseconds since 1970. JSON is text. Every table says who collects it.

-- One row a key; never collected. Holds the installation's id and counters.
CREATE TABLE settings (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- Collected by destroying the team.
CREATE TABLE teams (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    admin BOOLEAN NOT NULL,
    auth TEXT NOT NULL
);

-- Collected when they expire, and by logging out. Only a hash of the token is kept.
CREATE TABLE tokens (
    hash TEXT PRIMARY KEY,
    claims TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

-- Collected by destroying the pipeline.
CREATE TABLE pipelines (
    id INTEGER PRIMARY KEY,
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    ordering BIGINT NOT NULL,
    paused BOOLEAN NOT NULL,
    public BOOLEAN NOT NULL,
    archived BOOLEAN NOT NULL,
    config TEXT NOT NULL,
    config_version BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (team_id, name)
);

-- Collected with their pipeline. A job taken out of the configuration stays, inactive, for its builds.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    pipeline_id BIGINT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    active BOOLEAN NOT NULL,
    paused BOOLEAN NOT NULL,
    ordering BIGINT NOT NULL,
    build_number BIGINT NOT NULL,
    UNIQUE (pipeline_id, name)
);

-- Collected with their pipeline.
CREATE TABLE resources (
    id INTEGER PRIMARY KEY,
    pipeline_id BIGINT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    active BOOLEAN NOT NULL,
    UNIQUE (pipeline_id, name)
);

-- Collected with their resource.
CREATE TABLE resource_versions (
    id INTEGER PRIMARY KEY,
    resource_id BIGINT NOT NULL REFERENCES resources (id) ON DELETE CASCADE,
    version TEXT NOT NULL,
    metadata TEXT NOT NULL,
    check_order BIGINT NOT NULL,
    UNIQUE (resource_id, version)
);
CREATE INDEX resource_versions_by_order ON resource_versions (resource_id, check_order DESC);

-- Collected with their pipeline. `lease_*` says which server drives the build; `epoch` grows with
-- every change of hands and is on every write that drives it.
CREATE TABLE builds (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    pipeline_id BIGINT REFERENCES pipelines (id) ON DELETE CASCADE,
    job_id BIGINT REFERENCES jobs (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    created_by TEXT,
    -- Sealed: sources and params may hold passwords.
    plan BLOB,
    aborted BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    -- Whether the log has its last event; a crash can come between the two.
    log_closed BOOLEAN NOT NULL DEFAULT FALSE,
    lease_holder TEXT,
    lease_address TEXT,
    lease_expires_at BIGINT,
    epoch BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX builds_by_job ON builds (job_id, id DESC);
CREATE INDEX builds_by_pipeline ON builds (pipeline_id, id DESC);
CREATE INDEX builds_by_team ON builds (team_id, id DESC);
CREATE INDEX builds_unfinished ON builds (id) WHERE status IN ('pending', 'started');

CREATE INDEX builds_with_open_log ON builds (id) WHERE NOT log_closed;

-- What each node of a plan came to. Collected with the build.
CREATE TABLE build_nodes (
    build_id BIGINT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    plan_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    PRIMARY KEY (build_id, plan_id)
);

-- One row a placement. `request` is sealed and emptied when the step ends. Collected by the sweeper
-- once the runtime no longer has it, and with the build.
CREATE TABLE containers (
    handle TEXT PRIMARY KEY,
    build_id BIGINT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    plan_id TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    placement BIGINT NOT NULL,
    worker TEXT NOT NULL,
    state TEXT NOT NULL,
    labels TEXT NOT NULL,
    uid TEXT,
    token_hash TEXT,
    instance TEXT,
    session_hash TEXT,
    claimed_at BIGINT,
    request BLOB,
    -- Destroyed; the row of an unfinished build stays, to number the next placement.
    gone BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL,
    UNIQUE (build_id, plan_id, attempt, placement)
);
CREATE INDEX containers_by_worker ON containers (worker, state);

-- Sealed trees and those about to be. Collected when their build ends.
CREATE TABLE volumes (
    id TEXT PRIMARY KEY,
    build_id BIGINT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    handle TEXT NOT NULL,
    path TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX volumes_by_build ON volumes (build_id);

-- Placement targets. Collected when a target is taken out of the configuration.
CREATE TABLE workers (
    name TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    team TEXT,
    tags TEXT NOT NULL,
    platform TEXT NOT NULL,
    kind TEXT NOT NULL,
    started_at BIGINT NOT NULL
);
