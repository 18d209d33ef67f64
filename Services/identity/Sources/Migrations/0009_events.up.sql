-- The feed of events reads the audit log in the order of its transactions.
CREATE INDEX IF NOT EXISTS audit_entries_by_transaction ON audit_entries (transaction_id, id);

-- One row: the newest transaction whose entries were removed. Cursors from before it start over.
CREATE TABLE event_horizon (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    purged_through xid8 NOT NULL DEFAULT '0'
);

INSERT INTO event_horizon DEFAULT VALUES;

-- A crash forgets the numbers of transactions whose records had not reached the disk, and gives them to others. It also
-- empties unlogged tables, so this row tells whether a reader's snapshot still means what it meant.
CREATE UNLOGGED TABLE event_epoch (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    id       uuid NOT NULL DEFAULT gen_random_uuid()
);

-- How far each receiver of events has come.
CREATE TABLE webhooks (
    url             text PRIMARY KEY,
    cursor          text NOT NULL,
    revision        bigint NOT NULL DEFAULT 1,
    attempts        integer NOT NULL DEFAULT 0,
    through         timestamptz,
    oldest_at       timestamptz,
    delivered_at    timestamptz,
    next_attempt_at timestamptz NOT NULL DEFAULT now()
);
