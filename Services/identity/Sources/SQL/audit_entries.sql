-- Version 1. Raise it with every change of this file.
-- The guard of the audit log, and what follows a new entry. `deploy/postgres/audit-owner.sql` gives these tables and
-- functions to another role, and sets the interval. Run it with `-v owner=identity` before a new version of this file.

-- Refuses UPDATE and TRUNCATE, and DELETE of rows younger than the interval that the trigger names.
CREATE OR REPLACE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.at < now() - TG_ARGV[0]::interval THEN RETURN OLD; END IF;
    END IF;
    RAISE EXCEPTION 'rows of % are only added', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only('1 day');
CREATE OR REPLACE TRIGGER append_only_as_a_whole BEFORE TRUNCATE ON audit_entries
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only('1 day');
CREATE OR REPLACE TRIGGER append_only_as_a_whole BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_seals
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only('1 day');
CREATE OR REPLACE TRIGGER append_only_as_a_whole BEFORE TRUNCATE ON audit_seals
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();

-- Has stamp_audit_entries number a new entry.
CREATE OR REPLACE FUNCTION audit_entry_is_pending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO pending_audit_entries (entry_id) VALUES (NEW.id);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER is_pending AFTER INSERT ON audit_entries FOR EACH ROW EXECUTE FUNCTION audit_entry_is_pending();
