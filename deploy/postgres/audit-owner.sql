-- Gives the audit log of identity to a role that nobody signs in as, so that identity's own role can add entries and
-- read them, and can remove none that is younger than DAYS: it is no longer the owner, who may turn triggers off.
-- psql -v name=identity -v days=730 -f audit-owner.sql, as a superuser, in identity's database. DAYS is
-- IDENTITY_AUDIT_RETENTION_DAYS, or 36500 where that is 0. With -v owner=identity everything is given back: do that
-- before a `migrate` that changes these tables or runs a new version of audit_entries.sql.
\if :{?owner}
\else
    SELECT :'name' || '_audit' AS owner \gset
    SELECT format('CREATE ROLE %I NOLOGIN', :'owner')
    WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'owner') \gexec
\endif

\set interval :days ' days'

BEGIN;
ALTER TABLE audit_entries OWNER TO :"owner";
ALTER TABLE audit_log OWNER TO :"owner";
ALTER TABLE audit_seals OWNER TO :"owner";
ALTER TABLE pending_audit_entries OWNER TO :"owner";
ALTER FUNCTION audit_is_append_only() OWNER TO :"owner";
ALTER FUNCTION audit_entry_is_pending() OWNER TO :"owner";
REVOKE ALL ON audit_entries, audit_log, audit_seals, pending_audit_entries FROM :"name";
GRANT SELECT, INSERT, DELETE ON audit_entries, audit_log, audit_seals, pending_audit_entries TO :"name";
GRANT SELECT, USAGE ON SEQUENCE audit_entries_id_seq TO :"name";
-- With -v owner=identity this is the role from which everything was revoked above, and `migrate up` replaces triggers.
GRANT TRIGGER ON audit_entries, audit_log, audit_seals, pending_audit_entries TO :"owner";
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only(:'interval');
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only(:'interval');
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_seals
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only(:'interval');
COMMIT;
