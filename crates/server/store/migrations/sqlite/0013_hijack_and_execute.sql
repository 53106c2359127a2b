-- A step's container stays after its step for those who want to look inside: `kept_at` is since when,
-- `hijacked_at` when somebody last did. `dir` and `process_user` are where and as whom they begin.
ALTER TABLE containers ADD COLUMN kept_at BIGINT;
ALTER TABLE containers ADD COLUMN hijacked_at BIGINT;
ALTER TABLE containers ADD COLUMN dir TEXT NOT NULL DEFAULT '';
ALTER TABLE containers ADD COLUMN process_user TEXT NOT NULL DEFAULT '';

-- What was uploaded for builds, and what builds leave to be downloaded. `build_id` made it, `used_by`
-- reads it. Collected when it expires, unless the build that reads it is unfinished.
CREATE TABLE artifacts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    build_id BIGINT REFERENCES builds (id) ON DELETE CASCADE,
    used_by BIGINT REFERENCES builds (id) ON DELETE SET NULL,
    volume_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (build_id, name)
);
CREATE INDEX artifacts_by_volume ON artifacts (volume_id);
