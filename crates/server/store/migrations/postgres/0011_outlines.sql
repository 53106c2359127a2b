-- What lists show of a job or resource (JSON, in clear: no sources and no params), so that no
-- configuration is opened for them. Of pipelines set before, it is empty until they are set again.
ALTER TABLE jobs ADD COLUMN outline TEXT NOT NULL DEFAULT '{}';
ALTER TABLE resources ADD COLUMN outline TEXT NOT NULL DEFAULT '{}';

-- A job's next build and its latest finished one, without a look at its history.
CREATE INDEX builds_unfinished_by_job ON builds (job_id, id)
    WHERE status IN ('pending', 'started');
CREATE INDEX builds_finished_by_job ON builds (job_id, id)
    WHERE status NOT IN ('pending', 'started');
