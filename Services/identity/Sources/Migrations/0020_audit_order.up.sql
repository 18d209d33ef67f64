-- The order of the audit log, for the feed of events and the chain of hashes. Entries are not committed in the order of
-- their ids, so each gets a number after its commit (see stamp_audit_entries).
CREATE TABLE pending_audit_entries (
    entry_id bigint NOT NULL,
    added_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    PRIMARY KEY (added_at, entry_id)
);

CREATE TABLE audit_log (
    seq      bigint PRIMARY KEY,
    -- Random. After a restore or a fail-over that lost entries, a number is given out again, but not its tag.
    tag      bigint NOT NULL,
    entry_id bigint NOT NULL UNIQUE,
    -- The entry's.
    at       timestamptz NOT NULL
);

-- One row. Its lock lets one transaction at a time add to the log.
CREATE TABLE audit_head (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row));
INSERT INTO audit_head DEFAULT VALUES;

CREATE FUNCTION audit_entry_is_pending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO pending_audit_entries (entry_id) VALUES (NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER is_pending AFTER INSERT ON audit_entries FOR EACH ROW EXECUTE FUNCTION audit_entry_is_pending();

-- The entries so far keep the order that the chain gave them.
INSERT INTO audit_log (seq, tag, entry_id, at)
SELECT id, ('x' || encode(substr(sha256(uuid_send(gen_random_uuid())), 1, 8), 'hex'))::bit(64)::bigint, id, at
FROM audit_entries;

-- Gives pending entries their numbers: to at most `most`, and only to those of the last `reach` seconds where that is
-- given. The changes of one user wait for each other, so their entries are numbered in the order of the changes.
-- `head` and `tag` are those of the log's newest row, `cost` the seconds that the look for pending entries took. The plan
-- never reads the whole table, however many rows in it are dead.
CREATE FUNCTION stamp_audit_entries(
    reach double precision, most integer,
    OUT stamped bigint, OUT head bigint, OUT tag bigint, OUT cost double precision)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    start timestamptz := clock_timestamp();
    since timestamptz := COALESCE(start - reach * interval '1 second', '-infinity');
    is_pending boolean := EXISTS (SELECT FROM pending_audit_entries WHERE added_at >= since);
BEGIN
    stamped := 0;
    cost := extract(epoch FROM clock_timestamp() - start);
    IF is_pending THEN
        PERFORM FROM audit_head FOR UPDATE;
        -- This statement began after the lock was given, so it sees the numbers of every earlier stamping.
        WITH next AS MATERIALIZED (
            SELECT added_at, entry_id FROM pending_audit_entries
            WHERE added_at >= since ORDER BY added_at, entry_id LIMIT most
        ), taken AS (
            DELETE FROM pending_audit_entries AS pending USING next
            WHERE pending.added_at = next.added_at AND pending.entry_id = next.entry_id
        ), added AS (
            INSERT INTO audit_log (seq, tag, entry_id, at)
            SELECT
                COALESCE((SELECT seq FROM audit_log ORDER BY seq DESC LIMIT 1), 0)
                    + row_number() OVER (ORDER BY entry_id),
                ('x' || encode(substr(sha256(uuid_send(gen_random_uuid())), 1, 8), 'hex'))::bit(64)::bigint,
                entry_id, entry.at
            FROM next JOIN audit_entries AS entry ON entry.id = entry_id
            WHERE NOT EXISTS (SELECT FROM audit_log AS log WHERE log.entry_id = next.entry_id)
        )
        SELECT count(*) INTO stamped FROM next;
    END IF;
    SELECT log.seq, log.tag INTO head, tag FROM audit_log AS log ORDER BY log.seq DESC LIMIT 1;
END
$$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only('1 day');
CREATE TRIGGER append_only_as_a_whole BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
REVOKE UPDATE, TRUNCATE ON audit_log FROM CURRENT_USER;

-- A seal covers entries by their numbers. Those of the entries so far are their ids.
ALTER TABLE audit_seals RENAME COLUMN last_id TO last_seq;

ALTER TABLE audit_entries DROP COLUMN transaction_id;
DROP TABLE event_horizon, event_epoch;

-- Positions in the former feeds mean nothing to the present ones. Both are read from their beginning, and what was
-- delivered or stored before is left out.
UPDATE webhooks SET cursor = 'oldest';
UPDATE revocation_feed SET cursor = 'oldest' WHERE cursor IS NOT NULL;
