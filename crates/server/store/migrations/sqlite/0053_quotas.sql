-- The bytes of volumes, for teams with a quota of them. Collected with the volume.
CREATE TABLE volume_sizes (
    volume_id TEXT PRIMARY KEY,
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    bytes BIGINT NOT NULL
);
CREATE INDEX volume_sizes_by_team ON volume_sizes (team_id, bytes);

-- The bytes of build logs before they are compressed. Collected with the build, and when its log is removed.
CREATE TABLE build_logs (
    build_id BIGINT PRIMARY KEY REFERENCES builds (id) ON DELETE CASCADE,
    team_id BIGINT NOT NULL,
    bytes BIGINT NOT NULL
);
CREATE INDEX build_logs_by_team ON build_logs (team_id, bytes);

-- The sum of these for each team, kept by triggers. Collected with the team.
CREATE TABLE log_usage (
    team_id BIGINT PRIMARY KEY REFERENCES teams (id) ON DELETE CASCADE,
    bytes BIGINT NOT NULL
);
CREATE TRIGGER build_logs_added AFTER INSERT ON build_logs BEGIN
    INSERT INTO log_usage (team_id, bytes) VALUES (NEW.team_id, NEW.bytes)
    ON CONFLICT (team_id) DO UPDATE SET bytes = log_usage.bytes + excluded.bytes;
END;
CREATE TRIGGER build_logs_grown AFTER UPDATE ON build_logs BEGIN
    UPDATE log_usage SET bytes = bytes + NEW.bytes - OLD.bytes WHERE team_id = NEW.team_id;
END;
CREATE TRIGGER build_logs_removed AFTER DELETE ON build_logs BEGIN
    UPDATE log_usage SET bytes = bytes - OLD.bytes WHERE team_id = OLD.team_id;
END;
