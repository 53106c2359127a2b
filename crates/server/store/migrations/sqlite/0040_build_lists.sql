-- Lists of builds have those that repeat a build before it. Each way to list them has its index.
CREATE INDEX builds_listed ON builds (coalesce(rerun_of, id), id);
CREATE INDEX builds_listed_by_team ON builds (team_id, coalesce(rerun_of, id), id);
CREATE INDEX builds_listed_by_pipeline ON builds (pipeline_id, coalesce(rerun_of, id), id);
CREATE INDEX builds_listed_by_job ON builds (job_id, coalesce(rerun_of, id), id);
