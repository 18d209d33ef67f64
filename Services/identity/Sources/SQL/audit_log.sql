-- Version 1. Raise it with every change of this file.
-- The order of the audit log.

-- Numbers pending entries: at most `most`, and if `reach` is given, only those of the last `reach` seconds. The changes
-- of one user wait for each other, so their entries are numbered in the order of the changes. `head` and `tag` are those
-- of the log's newest row, `cost` the seconds that the search for pending entries took.
--
-- The plan never reads the whole table, however many rows in it are dead. The planner then estimates an immense cost for
-- the head's one row, so without `jit = off` JIT would compile the statement for 60 ms.
CREATE OR REPLACE FUNCTION stamp_audit_entries(
    reach double precision, most integer,
    OUT stamped bigint, OUT head bigint, OUT tag bigint, OUT cost double precision)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
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
