-- Builds that check: `is_check`, and of which resource, unless it is a type or a prototype that they check.
-- Those that nobody asked for are not `listed`. Collected a while after they ended, but for the last of
-- each resource.
ALTER TABLE builds ADD COLUMN is_check BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE builds ADD COLUMN listed BOOLEAN NOT NULL DEFAULT TRUE;
ALTER TABLE builds ADD COLUMN resource_id BIGINT REFERENCES resources (id) ON DELETE CASCADE;
CREATE INDEX builds_by_resource ON builds (resource_id, id) WHERE resource_id IS NOT NULL;
CREATE INDEX builds_of_checks ON builds (ended_at) WHERE is_check;

-- The last check of a resource that came to an end, of the history `scope`. Written in batches: a crash
-- forgets the last seconds. Collected with the resource.
CREATE TABLE resource_checks (
    resource_id BIGINT PRIMARY KEY REFERENCES resources (id) ON DELETE CASCADE,
    scope BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    -- How many failed since the last that succeeded.
    failures BIGINT NOT NULL
);

-- The last check that found the image of a type, prototype or task, by a digest of what was checked, and the
-- newest version it found. Collected when nobody asked for long.
CREATE TABLE image_checks (
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    version TEXT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    succeeded BOOLEAN NOT NULL,
    PRIMARY KEY (team_id, digest)
);

-- The version of the image in which the resource was last checked, if its type has one: another image begins
-- another history.
ALTER TABLE resources ADD COLUMN type_image TEXT;
