CREATE INDEX CONCURRENTLY audit_entries_by_transaction ON audit_entries (transaction_id, id);
