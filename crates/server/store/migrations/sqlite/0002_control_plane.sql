-- Runs with foreign keys off: a table is changed by making it anew.

-- Who the members are is sealed from now on; what is here in clear is sealed at the next start.
ALTER TABLE teams ADD COLUMN sealed BLOB NOT NULL DEFAULT x'';
UPDATE teams SET sealed = CAST(auth AS BLOB);
ALTER TABLE teams DROP COLUMN auth;
ALTER TABLE teams RENAME COLUMN sealed TO auth;

-- Claims are sealed. Whoever was logged in logs in again.
DROP TABLE tokens;
CREATE TABLE tokens (
    hash TEXT PRIMARY KEY,
    claims BLOB NOT NULL,
    expires_at BIGINT NOT NULL
);

-- A pipeline is known by its team, its name and its instance vars (canonical JSON). `ordering` is
-- shared by all instances of a name; `instance_ordering` tells them apart. `summary` is what lists
-- show of the configuration, in clear: no sources and no params.
CREATE TABLE pipelines_new (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    instance_vars TEXT NOT NULL,
    ordering BIGINT NOT NULL,
    instance_ordering BIGINT NOT NULL,
    paused BOOLEAN NOT NULL,
    paused_by TEXT,
    paused_at BIGINT,
    public BOOLEAN NOT NULL,
    archived BOOLEAN NOT NULL,
    config BLOB NOT NULL,
    summary TEXT NOT NULL,
    config_version BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (team_id, name, instance_vars)
);
INSERT INTO pipelines_new (id, team_id, name, instance_vars, ordering, instance_ordering, paused,
    public, archived, config, summary, config_version, updated_at)
SELECT id, team_id, name, '{}', ordering, 1, paused, public, archived, unhex(config), '',
    config_version, updated_at FROM pipelines;
DROP TABLE pipelines;
ALTER TABLE pipelines_new RENAME TO pipelines;

ALTER TABLE jobs ADD COLUMN paused_by TEXT;
ALTER TABLE jobs ADD COLUMN paused_at BIGINT;

-- Everybody who ever logged in. Never collected: it is the record of who did.
CREATE TABLE users (
    id INTEGER PRIMARY KEY,
    sub TEXT NOT NULL UNIQUE,
    username TEXT NOT NULL,
    connector TEXT NOT NULL,
    last_login BIGINT NOT NULL
);

-- The loops that every server runs. Collected when none has said its name for a while.
CREATE TABLE components (
    name TEXT PRIMARY KEY,
    interval_nanos BIGINT NOT NULL,
    last_ran BIGINT NOT NULL,
    paused BOOLEAN NOT NULL
);
