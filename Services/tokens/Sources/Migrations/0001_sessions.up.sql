-- What identity told us of a user who has a session, so that a refresh needs nobody else.
CREATE TABLE users (
    id uuid PRIMARY KEY,
    -- The highest that was seen wins.
    version bigint NOT NULL,
    role text NOT NULL,
    store_ids text[] NOT NULL,
    email text,
    -- The user as clients see one: JSON that is passed on as it is.
    profile text NOT NULL,
    -- When the user last signed out everywhere: a sign-in that began before makes no session.
    signed_out_at timestamptz
);

-- One row is the whole family of a session's refresh tokens. No index stands on what a rotation changes and pages keep
-- room, so that rotations are heap-only updates and the table stays compact.
CREATE TABLE sessions (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    -- Identity's: what the sign-in was proved against.
    credentials_version bigint NOT NULL,
    generation integer NOT NULL DEFAULT 0,
    -- SHA-256 of the current token and of its predecessor.
    current_hash bytea NOT NULL,
    previous_hash bytea,
    -- The current token under a key that only its predecessor together with the service's own key gives.
    sealed_current bytea,
    created_at timestamptz NOT NULL,
    rotated_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    absolute_expires_at timestamptz NOT NULL,
    -- No access token that was issued lives longer.
    access_expires_at timestamptz NOT NULL,
    late_replays smallint NOT NULL DEFAULT 0,
    late_replayed boolean NOT NULL DEFAULT false,
    device jsonb,
    ip_address text
) WITH (fillfactor = 70);

CREATE INDEX sessions_user_id ON sessions (user_id);

-- The revocation feed. Identity numbers are not commit order: readers go by the transaction that wrote the entry.
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

-- One row: the newest transaction whose entries were purged. Cursors from before it start over.
CREATE TABLE revocation_horizon (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    purged_through xid8 NOT NULL DEFAULT '0'
);

INSERT INTO revocation_horizon DEFAULT VALUES;

-- Theft and erasure, under the bare ids.
CREATE TABLE audit_events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    occurred_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    kind text NOT NULL,
    user_id uuid NOT NULL,
    session_id uuid
);

CREATE INDEX audit_events_occurred_at ON audit_events (occurred_at);
CREATE INDEX audit_events_erased_users ON audit_events (user_id) WHERE kind = 'userErased';
