CREATE UNIQUE INDEX CONCURRENTLY audit_entries_of_session_ends ON audit_entries (session_id)
    WHERE event = 'session_revoked';
