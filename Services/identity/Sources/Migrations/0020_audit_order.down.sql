DO $$ BEGIN
    IF EXISTS (SELECT FROM audit_log WHERE seq <> entry_id) THEN
        RAISE EXCEPTION 'seals and counts go by the numbers of audit_log, which the former version does not know';
    END IF;
END $$;
DROP TRIGGER is_pending ON audit_entries;
DROP FUNCTION audit_entry_is_pending(), stamp_audit_entries(double precision, integer);
ALTER TABLE audit_seals RENAME COLUMN last_seq TO last_id;
ALTER TABLE audit_entries ADD COLUMN transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX audit_entries_by_transaction ON audit_entries (transaction_id, id);
CREATE TABLE event_horizon (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    purged_through xid8 NOT NULL DEFAULT '0'
);
INSERT INTO event_horizon DEFAULT VALUES;
CREATE UNLOGGED TABLE event_epoch (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    id       uuid NOT NULL DEFAULT gen_random_uuid()
);
DROP TABLE pending_audit_entries, audit_log, audit_head;
