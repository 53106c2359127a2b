-- What gets fetched, by what it was fetched from (a keyed digest). The volume is kept by this row alone:
-- it outlives the build that made it. Without a key it is not found any more, but those who use it keep it.
-- Collected when no use is left.
CREATE TABLE resource_caches (
    volume_id TEXT PRIMARY KEY,
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    key TEXT,
    -- The container that fetched it.
    handle TEXT NOT NULL,
    metadata TEXT NOT NULL,
    used_at BIGINT NOT NULL,
    UNIQUE (team_id, key)
);
CREATE INDEX resource_caches_by_handle ON resource_caches (handle);

-- Who uses them: builds that run or can be looked into, and the latest of each job. Collected when a
-- build is none of these any more, and with it.
CREATE TABLE resource_cache_uses (
    build_id BIGINT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    volume_id TEXT NOT NULL REFERENCES resource_caches (volume_id) ON DELETE CASCADE,
    PRIMARY KEY (build_id, volume_id)
);
CREATE INDEX resource_cache_uses_by_volume ON resource_cache_uses (volume_id);
