-- The status of each job's latest finished build, reruns counted as their originals are, and the time since which it
-- has been that one. Written in the transaction that finishes a build.
ALTER TABLE jobs ADD COLUMN latest_status TEXT;
ALTER TABLE jobs ADD COLUMN transition_at BIGINT;
UPDATE jobs SET latest_status = (
    SELECT b.status FROM builds b WHERE b.job_id = jobs.id AND b.status NOT IN ('pending', 'started')
    ORDER BY coalesce(b.rerun_of, b.id) DESC, b.id DESC LIMIT 1);
UPDATE jobs SET transition_at = (
    SELECT min(b.ended_at) FROM builds b WHERE b.job_id = jobs.id AND b.status = jobs.latest_status
      AND b.id > coalesce((SELECT max(o.id) FROM builds o WHERE o.job_id = jobs.id
        AND o.status NOT IN ('pending', 'started', jobs.latest_status)), 0))
WHERE latest_status IS NOT NULL;

-- How far behind others each job of the configuration comes, a character for each in its order. Empty until the
-- pipeline is set again.
ALTER TABLE pipelines ADD COLUMN ranks TEXT NOT NULL DEFAULT '';
