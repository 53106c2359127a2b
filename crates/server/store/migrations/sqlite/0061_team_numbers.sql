-- The highest number that a team ever had. Images, and rights to them, are kept by it outside of the
-- database, so a number is never given again, as SQLite does after the newest team is removed. One row.
CREATE TABLE team_numbers (
    last BIGINT NOT NULL
);
INSERT INTO team_numbers (last) SELECT COALESCE(MAX(id), 0) FROM teams;
