-- Codes that were sent to prove an identifier. `subject`, `network`, `digest` and `link_digest` are HMACs under a key that
-- is not here, `sealed` is the identifier: the table names nobody. A row stays for an hour, so that asking again can be
-- slowed down.
CREATE TABLE codes (
    id               uuid PRIMARY KEY,
    subject          text NOT NULL,
    network          text NOT NULL,
    purpose          text NOT NULL,
    digest           text NOT NULL,
    link_digest      text NOT NULL,
    sealed           bytea NOT NULL,
    tries            integer NOT NULL DEFAULT 0,
    tries_of_anybody integer NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now(),
    expires_at       timestamptz NOT NULL,
    used_at          timestamptz
);
CREATE INDEX codes_by_subject ON codes (subject, created_at);
CREATE INDEX codes_by_age ON codes (created_at);

-- Text messages have a line of their own, so that a mail server that is slow or away holds none of them up.
ALTER TABLE outbox DROP CONSTRAINT outbox_destination_check;
ALTER TABLE outbox ADD CONSTRAINT outbox_destination_check
    CHECK (destination IN ('tokens', 'devices', 'apple', 'mail', 'phone'));
