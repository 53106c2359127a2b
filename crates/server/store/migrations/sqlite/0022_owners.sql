-- Which caches gets of a resource made or found, and of which version: for those who want them forgotten.
-- Goes with either.
CREATE TABLE resource_cache_owners (
    resource_id BIGINT NOT NULL REFERENCES resources (id) ON DELETE CASCADE,
    volume_id TEXT NOT NULL REFERENCES resource_caches (volume_id) ON DELETE CASCADE,
    version TEXT NOT NULL,
    PRIMARY KEY (resource_id, volume_id)
);
CREATE INDEX resource_cache_owners_by_volume ON resource_cache_owners (volume_id);

-- Under which digest the image of a pipeline's type was looked for last: its history, for those who want it forgotten.
-- Goes with the check for the image, or with the pipeline.
CREATE TABLE image_check_owners (
    pipeline_id BIGINT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    team_id BIGINT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (pipeline_id, name),
    FOREIGN KEY (team_id, digest) REFERENCES image_checks (team_id, digest) ON DELETE CASCADE
);
CREATE INDEX image_check_owners_by_check ON image_check_owners (team_id, digest);

-- When a check last ran in a container that is kept for checks, of which its step's was the first. None: it is not kept
-- for that.
ALTER TABLE containers ADD COLUMN checked_at BIGINT;
