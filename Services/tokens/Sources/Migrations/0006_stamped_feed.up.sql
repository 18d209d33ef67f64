-- The revocation feed without transaction numbers. A revocation adds its entry here, in its own transaction.
CREATE TABLE pending_revocations (
    entry_id uuid NOT NULL DEFAULT gen_random_uuid(),
    session_id uuid NOT NULL,
    user_id uuid NOT NULL,
    revoked_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    access_expires_at timestamptz NOT NULL,
    reason text NOT NULL,
    -- The only index, so that no plan looks for recent entries by another one.
    PRIMARY KEY (revoked_at, entry_id)
);

-- The feed: committed entries under consecutive numbers. A reader's cursor is the number and tag of the last entry that
-- it has read. The newest row is never removed, so that a cursor stays valid while nothing happens.
CREATE TABLE revocation_log (
    seq bigint PRIMARY KEY,
    -- Random. After a restore or a fail-over that lost entries, a number is given out again, but not its tag.
    tag bigint NOT NULL,
    entry_id uuid NOT NULL UNIQUE,
    stamped_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    session_id uuid NOT NULL,
    user_id uuid NOT NULL,
    revoked_at timestamptz NOT NULL,
    access_expires_at timestamptz NOT NULL,
    reason text NOT NULL
);

-- One row. Its lock lets one transaction at a time add to the log.
CREATE TABLE revocation_head (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row));
INSERT INTO revocation_head DEFAULT VALUES;

-- Moves pending entries into the log: at most `most`, and only those of the last `reach` seconds where that is given.
-- `head` and `tag` are those of the log's newest row, `cost` the seconds that the look for pending entries took. The plan
-- never reads the whole table, however many rows in it are dead.
CREATE FUNCTION stamp_revocations(
    reach double precision, most integer,
    OUT stamped bigint, OUT head bigint, OUT tag bigint, OUT cost double precision)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    start timestamptz := clock_timestamp();
    since timestamptz := COALESCE(start - reach * interval '1 second', '-infinity');
    is_pending boolean := EXISTS (SELECT FROM pending_revocations WHERE revoked_at >= since);
BEGIN
    stamped := 0;
    cost := extract(epoch FROM clock_timestamp() - start);
    IF is_pending THEN
        PERFORM FROM revocation_head FOR UPDATE;
        -- This statement began after the lock was given, so it sees the numbers of every earlier stamping.
        WITH next AS MATERIALIZED (
            SELECT * FROM pending_revocations WHERE revoked_at >= since ORDER BY revoked_at LIMIT most
        ), taken AS (
            DELETE FROM pending_revocations AS pending USING next
            WHERE pending.revoked_at = next.revoked_at AND pending.entry_id = next.entry_id
        ), added AS (
            INSERT INTO revocation_log (seq, tag, entry_id, session_id, user_id, revoked_at, access_expires_at, reason)
            SELECT
                COALESCE((SELECT seq FROM revocation_log ORDER BY seq DESC LIMIT 1), 0) + row_number() OVER (),
                ('x' || encode(substr(sha256(uuid_send(gen_random_uuid())), 1, 8), 'hex'))::bit(64)::bigint,
                entry_id, session_id, user_id, revoked_at, access_expires_at, reason
            FROM next WHERE NOT EXISTS (SELECT FROM revocation_log AS log WHERE log.entry_id = next.entry_id)
        )
        SELECT count(*) INTO stamped FROM next;
    END IF;
    SELECT log.seq, log.tag INTO head, tag FROM revocation_log AS log ORDER BY log.seq DESC LIMIT 1;
END
$$;

-- Every reader starts over, and hears of these again.
LOCK TABLE revocations IN ACCESS EXCLUSIVE MODE;
INSERT INTO pending_revocations (session_id, user_id, revoked_at, access_expires_at, reason)
SELECT session_id, user_id, revoked_at, access_expires_at, reason FROM revocations;

DROP TABLE revocations, revocation_horizon, revocation_epoch;

UPDATE sweeps SET table_name = 'revocation_log' WHERE table_name = 'revocations';
