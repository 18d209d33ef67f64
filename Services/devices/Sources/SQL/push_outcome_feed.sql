-- Version 1. Raise it with every change of this file.
-- The order of the feed of outcomes.

-- Moves pending entries into the log: at most `most`, and if `reach` is given, only those of the last `reach`
-- seconds. `head` and `tag` are those of the log's newest row, `cost` the seconds that the search for pending entries
-- took.
--
-- The plan never reads the whole table, however many rows in it are dead. The planner then estimates an immense cost
-- for the head's one row, so without `jit = off` JIT would compile the statement for 60 ms.
CREATE OR REPLACE FUNCTION stamp_push_outcomes(
    reach double precision, most integer,
    OUT stamped bigint, OUT head bigint, OUT tag bigint, OUT cost double precision)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
    start timestamptz := clock_timestamp();
    since timestamptz := coalesce(start - reach * interval '1 second', '-infinity');
    is_pending boolean := EXISTS (SELECT FROM pending_push_outcomes WHERE occurred_at >= since);
BEGIN
    stamped := 0;
    cost := extract(epoch FROM clock_timestamp() - start);
    IF is_pending THEN
        PERFORM FROM push_outcome_head FOR UPDATE;
        -- This statement began after the lock was given, so it sees the numbers of every earlier stamping.
        WITH next AS MATERIALIZED (
            SELECT * FROM pending_push_outcomes WHERE occurred_at >= since ORDER BY occurred_at LIMIT most
        ), taken AS (
            DELETE FROM pending_push_outcomes AS pending USING next
            WHERE pending.occurred_at = next.occurred_at AND pending.entry_id = next.entry_id
              AND pending.bucket = next.bucket
        ), added AS (
            INSERT INTO push_outcome_log
                (seq, tag, entry_id, occurred_at, caller, push_id, device_id, user_id, state, reason)
            SELECT
                coalesce((SELECT seq FROM push_outcome_log ORDER BY seq DESC LIMIT 1), 0) + row_number() OVER (),
                ('x' || encode(substr(sha256(uuid_send(gen_random_uuid())), 1, 8), 'hex'))::bit(64)::bigint,
                entry_id, occurred_at, caller, push_id, device_id, user_id, state, reason
            FROM next WHERE NOT EXISTS (SELECT FROM push_outcome_log AS log WHERE log.entry_id = next.entry_id)
        )
        SELECT count(*) INTO stamped FROM next;
    END IF;
    SELECT log.seq, log.tag INTO head, tag FROM push_outcome_log AS log ORDER BY log.seq DESC LIMIT 1;
END
$$;
