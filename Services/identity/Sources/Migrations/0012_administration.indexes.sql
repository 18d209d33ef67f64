CREATE INDEX CONCURRENTLY identifiers_by_prefix ON identifiers (value text_pattern_ops);
CREATE INDEX CONCURRENTLY users_by_role ON users (role, created_at, id) WHERE role <> 'user';
CREATE INDEX CONCURRENTLY users_disabled ON users (created_at, id) WHERE state = 'disabled';
CREATE INDEX CONCURRENTLY audit_entries_by_age ON audit_entries (at, id);
CREATE INDEX CONCURRENTLY audit_entries_by_event ON audit_entries (event, at, id);
