-- The Secrets that runtimes have made for pulling images, and whose names nothing else knows. A worker's
-- runtime forgets a name when it has removed the Secret; names of a worker that is gone wait for its return.
CREATE TABLE pull_secrets (
    worker TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (worker, name)
);
