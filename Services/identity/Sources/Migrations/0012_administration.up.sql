-- What operators look for, and in which order. On large tables make the indexes by hand first, with CREATE INDEX
-- CONCURRENTLY.
CREATE INDEX IF NOT EXISTS identifiers_by_prefix ON identifiers (value text_pattern_ops);
CREATE INDEX IF NOT EXISTS users_by_role ON users (role, created_at, id) WHERE role <> 'user';
CREATE INDEX IF NOT EXISTS users_disabled ON users (created_at, id) WHERE state = 'disabled';
CREATE INDEX IF NOT EXISTS audit_entries_by_age ON audit_entries (at, id);
CREATE INDEX IF NOT EXISTS audit_entries_by_event ON audit_entries (event, at, id);
