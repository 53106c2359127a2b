-- Who may join as an agent: one token a name, known only by its hash. A row goes when the token is revoked, or with
-- its team.
CREATE TABLE agent_tokens (
    name TEXT PRIMARY KEY,
    team TEXT,
    tags TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
