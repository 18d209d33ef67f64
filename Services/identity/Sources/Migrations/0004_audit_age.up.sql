-- Entries are removed by their age. On a large table make it by hand first, with CREATE INDEX CONCURRENTLY.
CREATE INDEX IF NOT EXISTS audit_by_age ON audit (at);
