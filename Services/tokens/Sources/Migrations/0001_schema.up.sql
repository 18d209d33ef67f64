-- Sessions, the users who have them, and the feed of revocations. The functions of the service are in SQL.
--
-- The rows of a user are in one bucket of every table, so that the tables can be partitioned by bucket, or distributed
-- over servers. A session id begins with the bucket of its user.

CREATE TABLE users (
    bucket            smallint NOT NULL,
    id                uuid NOT NULL,
    version           bigint NOT NULL,
    role              text NOT NULL,
    store_ids         text[] NOT NULL,
    email             text,
    is_email_verified boolean NOT NULL,
    profile           text NOT NULL,
    signed_out_at     timestamptz,
    PRIMARY KEY (bucket, id)
);
CREATE INDEX users_signed_out_at ON users (signed_out_at) WHERE signed_out_at IS NOT NULL;
COMMENT ON TABLE users IS
    'Users who have a session, as identity last described them, so that a refresh depends on no other service.';
COMMENT ON COLUMN users.version IS 'The highest that was received wins.';
COMMENT ON COLUMN users.profile IS 'The user as JSON, which clients receive unchanged.';
COMMENT ON COLUMN users.signed_out_at IS
    'When the user last signed out everywhere. A sign-in that began before creates no session.';

-- No index covers what a rotation changes, and pages keep room, so that rotations are heap-only updates and the table
-- stays compact.
CREATE TABLE sessions (
    bucket                 smallint NOT NULL,
    id                     uuid NOT NULL,
    user_id                uuid NOT NULL,
    credentials_version    bigint NOT NULL,
    generation             integer NOT NULL DEFAULT 0,
    late_replays           smallint NOT NULL DEFAULT 0,
    late_replayed          boolean NOT NULL DEFAULT false,
    created_at             timestamptz NOT NULL,
    rotated_at             timestamptz NOT NULL,
    expires_at             timestamptz NOT NULL,
    absolute_expires_at    timestamptz NOT NULL,
    access_expires_at      timestamptz NOT NULL,
    authenticated_at       timestamptz NOT NULL,
    expiry_day             date NOT NULL,
    current_hash           bytea NOT NULL,
    previous_hash          bytea,
    sealed_current         bytea,
    authentication_methods text[] NOT NULL,
    device                 jsonb,
    ip_address             text,
    PRIMARY KEY (bucket, id),
    FOREIGN KEY (bucket, user_id) REFERENCES users (bucket, id)
) WITH (fillfactor = 70);
CREATE INDEX sessions_user_id ON sessions (bucket, user_id);
CREATE INDEX sessions_expiry_day ON sessions (expiry_day, id);
COMMENT ON TABLE sessions IS 'One row is a session''s whole family of refresh tokens.';
COMMENT ON COLUMN sessions.credentials_version IS 'The version of the credentials that identity verified.';
COMMENT ON COLUMN sessions.generation IS 'The number of rotations.';
COMMENT ON COLUMN sessions.access_expires_at IS
    'No access token of a rotation expires later. One from a repeated answer may.';
COMMENT ON COLUMN sessions.authenticated_at IS 'When the user last authenticated.';
COMMENT ON COLUMN sessions.expiry_day IS
    'The day by which the sweep finds sessions that may have expired. A rotation writes it only if the idle lifetime was '
    'lowered since the sign-in.';
COMMENT ON COLUMN sessions.current_hash IS 'SHA-256 of the current token.';
COMMENT ON COLUMN sessions.previous_hash IS 'SHA-256 of its predecessor.';
COMMENT ON COLUMN sessions.sealed_current IS
    'The current token, sealed under a key derived from its predecessor and the service''s own key.';
COMMENT ON COLUMN sessions.authentication_methods IS 'As in the claim `amr`; empty if unknown.';

CREATE TABLE security_events (
    bucket      smallint NOT NULL,
    id          uuid NOT NULL DEFAULT gen_random_uuid(),
    occurred_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    kind        text NOT NULL,
    user_id     uuid NOT NULL,
    session_id  uuid,
    PRIMARY KEY (bucket, id)
);
CREATE INDEX security_events_occurred_at ON security_events (occurred_at);
CREATE INDEX security_events_erased_users ON security_events (bucket, user_id) WHERE kind = 'userErased';
COMMENT ON TABLE security_events IS 'Theft and erasure. An erased user gets no session.';
COMMENT ON COLUMN security_events.kind IS '`userErased`, or `theft.` and the evidence.';

-- ---- The feed of revocations

-- The primary key is the only index, so that no plan looks for recent entries by another one.
CREATE TABLE pending_revocations (
    entry_id          uuid NOT NULL DEFAULT gen_random_uuid(),
    session_id        uuid NOT NULL,
    user_id           uuid NOT NULL,
    revoked_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    access_expires_at timestamptz NOT NULL,
    reason            text NOT NULL,
    bucket            smallint NOT NULL,
    PRIMARY KEY (revoked_at, entry_id, bucket)
);
COMMENT ON TABLE pending_revocations IS
    'Revocations that have no number in revocation_log yet. Each is added by the transaction that ends the session.';

CREATE TABLE revocation_log (
    seq               bigint PRIMARY KEY,
    tag               bigint NOT NULL,
    entry_id          uuid NOT NULL UNIQUE,
    stamped_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    session_id        uuid NOT NULL,
    user_id           uuid NOT NULL,
    revoked_at        timestamptz NOT NULL,
    access_expires_at timestamptz NOT NULL,
    reason            text NOT NULL
);
COMMENT ON TABLE revocation_log IS
    'The feed of revocations: committed entries under consecutive numbers, which stamp_revocations gives. A reader''s '
    'cursor is the number and tag of the last entry that it has read. The newest row is never removed, so that a cursor '
    'stays valid while nothing happens.';
COMMENT ON COLUMN revocation_log.tag IS
    'Random. A number may be given out again after a restore or a fail-over that lost entries, but not its tag.';

CREATE TABLE revocation_head (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row));
INSERT INTO revocation_head DEFAULT VALUES;
COMMENT ON TABLE revocation_head IS 'One row. Its lock lets one transaction at a time add to revocation_log.';

-- ---- Maintenance

CREATE TABLE sweeps (
    table_name text PRIMARY KEY,
    due_at     timestamptz NOT NULL DEFAULT statement_timestamp(),
    day        date,
    session_id uuid,
    seq        bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO sweeps (table_name) VALUES ('sessions'), ('users'), ('revocation_log'), ('security_events');
COMMENT ON TABLE sweeps IS
    'Expired rows are removed by one replica at a time: the one that holds a row here sweeps the table of that name.';
COMMENT ON COLUMN sweeps.day IS
    'The next batch begins after session_id of this day, or after seq of the revocation log.';

CREATE TABLE database_origin (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id()
);
INSERT INTO database_origin DEFAULT VALUES;
COMMENT ON TABLE database_origin IS
    'Detects a database that was restored from a dump: restoring writes the row in another transaction, so that its xmin '
    'differs from transaction_id. Copies of files, standbys, pg_upgrade and VACUUM FULL keep both.';

-- ---- Types of functions

CREATE TYPE session_grant AS (
    now timestamptz, expires_at timestamptz, authenticated_at timestamptz, authentication_methods text[],
    user_id uuid, role text, store_ids text[], email text, is_email_verified boolean, profile text);
COMMENT ON TYPE session_grant IS 'The data for a response with tokens.';

CREATE TYPE session_state AS (
    generation integer, current_hash bytea, previous_hash bytea, sealed_current bytea, rotated_at timestamptz,
    late_replays smallint, late_replayed boolean, absolute_expires_at timestamptz,
    now timestamptz, expires_at timestamptz, authenticated_at timestamptz, authentication_methods text[],
    user_id uuid, role text, store_ids text[], email text, is_email_verified boolean, profile text);
COMMENT ON TYPE session_state IS 'A session with its user.';
