-- When the build's log, plan and outcomes were removed, which is all that takes much room; the row stays
-- for a while as the record of what ran. Builds are collected once enough newer ones of their job are
-- reaped, too.
ALTER TABLE builds ADD COLUMN reaped_at BIGINT;
CREATE INDEX builds_logged_by_job ON builds (job_id, id)
    WHERE reaped_at IS NULL AND job_id IS NOT NULL;
CREATE INDEX builds_logged_one_off ON builds (team_id, id)
    WHERE reaped_at IS NULL AND job_id IS NULL AND NOT is_check;
CREATE INDEX builds_reaped_by_job ON builds (job_id, id)
    WHERE reaped_at IS NOT NULL AND job_id IS NOT NULL;
CREATE INDEX builds_reaped_one_off ON builds (team_id, id)
    WHERE reaped_at IS NOT NULL AND job_id IS NULL;

-- So that a build goes without a look at every artifact, token or cache.
CREATE INDEX artifacts_by_reader ON artifacts (used_by) WHERE used_by IS NOT NULL;
CREATE INDEX artifacts_by_age ON artifacts (created_at);
CREATE INDEX tokens_by_end ON tokens (expires_at);
CREATE INDEX task_caches_by_end ON task_caches (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX image_checks_by_end ON image_checks (ended_at);
