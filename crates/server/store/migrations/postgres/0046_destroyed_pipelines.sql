-- Whether somebody destroyed it: nothing shows it any more, its name is free, and its rows go a few at a time.
ALTER TABLE pipelines ADD COLUMN destroyed BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX pipelines_destroyed ON pipelines (id) WHERE destroyed;
