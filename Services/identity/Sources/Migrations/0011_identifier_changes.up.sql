-- When the identifier became the user's; NULL for those of before. Without a rewrite of the table: the default counts
-- for new rows alone.
ALTER TABLE identifiers ADD COLUMN changed_at timestamptz;
ALTER TABLE identifiers ALTER COLUMN changed_at SET DEFAULT now();

-- Proved identifiers that their user has changed or removed. Who holds the token (kept as its SHA-256) has received it
-- there, and may undo that.
CREATE TABLE identifier_changes (
    digest     bytea PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    kind       text NOT NULL,
    value      text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX identifier_changes_by_user ON identifier_changes (user_id, kind);
CREATE INDEX identifier_changes_by_expiry ON identifier_changes (expires_at);
