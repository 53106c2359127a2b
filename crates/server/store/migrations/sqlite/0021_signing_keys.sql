-- What id tokens are signed with, sealed. Collected by the loop that makes new ones, once a newer key has
-- been there for long enough.
CREATE TABLE signing_keys (
    id TEXT PRIMARY KEY,
    algorithm TEXT NOT NULL,
    private_key BLOB NOT NULL,
    created_at BIGINT NOT NULL
);
