-- Requests for a code that were answered without a new message: the link of a code that was sent before serves with them.
-- One row for each identifier and purpose, since strangers ask as often as they like. `subject` is an HMAC under a key that
-- is not here, `sealed` is the identifier.
CREATE TABLE code_repeats (
    id         uuid PRIMARY KEY,
    subject    text NOT NULL,
    purpose    text NOT NULL,
    sealed     bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    UNIQUE (subject, purpose)
);
CREATE INDEX code_repeats_by_age ON code_repeats (expires_at);
