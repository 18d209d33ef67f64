UPDATE sweeps SET table_name = 'revocations' WHERE table_name = 'revocation_log';
CREATE TABLE revocations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    session_id uuid NOT NULL,
    user_id uuid NOT NULL,
    revoked_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    access_expires_at timestamptz NOT NULL,
    reason text NOT NULL
);
CREATE INDEX revocations_transaction_id ON revocations (transaction_id, id);
CREATE INDEX revocations_revoked_at ON revocations (revoked_at);
INSERT INTO revocations (session_id, user_id, revoked_at, access_expires_at, reason)
SELECT session_id, user_id, revoked_at, access_expires_at, reason FROM pending_revocations
UNION ALL SELECT session_id, user_id, revoked_at, access_expires_at, reason FROM revocation_log;
CREATE TABLE revocation_horizon (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    purged_through xid8 NOT NULL DEFAULT '0'
);
INSERT INTO revocation_horizon DEFAULT VALUES;
CREATE UNLOGGED TABLE revocation_epoch (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    id uuid NOT NULL DEFAULT gen_random_uuid()
);
DROP FUNCTION stamp_revocations(double precision, integer);
DROP TABLE pending_revocations, revocation_log, revocation_head;
