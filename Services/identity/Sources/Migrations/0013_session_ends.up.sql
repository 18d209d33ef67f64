-- How far tokens' revocation feed has been read: one row, which belongs to one process at a time.
CREATE TABLE revocation_feed (
    only_row      boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    cursor        text,
    revision      bigint NOT NULL DEFAULT 1,
    claimed_until timestamptz NOT NULL DEFAULT now(),
    read_at       timestamptz NOT NULL DEFAULT now()
);

INSERT INTO revocation_feed DEFAULT VALUES;

-- A session ends once, however often the feed tells of it. On a large table make the index by hand first, with CREATE
-- UNIQUE INDEX CONCURRENTLY.
CREATE UNIQUE INDEX IF NOT EXISTS audit_entries_of_session_ends ON audit_entries (session_id)
    WHERE event = 'session_revoked';
