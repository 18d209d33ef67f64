CREATE INDEX CONCURRENTLY audit_by_age ON audit (at);
