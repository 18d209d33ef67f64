-- Who uses the app. What others are shown of a user moves `version`; what a sign-in is proved against moves
-- `credentials_version`.
CREATE TABLE users (
    id                  uuid PRIMARY KEY,
    display_name        text,
    role                text NOT NULL DEFAULT 'user',
    store_ids           text[] NOT NULL DEFAULT '{}',
    state               text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'disabled')),
    version             bigint NOT NULL DEFAULT 1,
    credentials_version bigint NOT NULL DEFAULT 1,
    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz
);
CREATE INDEX users_by_age ON users (created_at, id);

-- What a password belongs to. Each has one owner; the owner may change while it is unverified.
CREATE TABLE identifiers (
    kind     text NOT NULL CHECK (kind IN ('email', 'phone')),
    value    text NOT NULL,
    user_id  uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    verified boolean NOT NULL,
    PRIMARY KEY (kind, value),
    UNIQUE (user_id, kind)
);

CREATE TABLE passwords (
    user_id    uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    hash       text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now()
);

-- Found by Apple's subject alone. `email` is what Apple said last, `refresh_token` is sealed.
CREATE TABLE apple_identities (
    subject       text PRIMARY KEY,
    user_id       uuid NOT NULL UNIQUE REFERENCES users ON DELETE CASCADE,
    client_id     text NOT NULL,
    email         text,
    refresh_token bytea,
    created_at    timestamptz NOT NULL DEFAULT now()
);

-- Nonces that have served, until they would be refused anyway, and the identity token each came with: who shows the
-- same pair again soon after is a client whose answer was lost.
CREATE TABLE used_nonces (
    digest       bytea PRIMARY KEY,
    token_digest bytea NOT NULL,
    used_at      timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL
);
CREATE INDEX used_nonces_by_expiry ON used_nonces (expires_at);

-- Apple repeats a notification until it is answered.
CREATE TABLE apple_notifications (
    id          text PRIMARY KEY,
    received_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX apple_notifications_by_age ON apple_notifications (received_at);

-- Who holds the token (kept as its SHA-256) has received it where the identifier leads, and may set a new password.
CREATE TABLE password_resets (
    digest     bytea PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    kind       text NOT NULL,
    value      text NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX password_resets_by_user ON password_resets (user_id);
CREATE INDEX password_resets_by_expiry ON password_resets (expires_at);

-- What is still to be told to others: committed with the change it tells of, gone when it is told.
CREATE TABLE outbox (
    id              uuid PRIMARY KEY,
    kind            text NOT NULL,
    destination     text NOT NULL CHECK (destination IN ('tokens', 'devices', 'apple', 'mail')),
    user_id         uuid,
    task            jsonb NOT NULL,
    sealed          bytea,
    revision        bigint NOT NULL DEFAULT 1,
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX outbox_due ON outbox (destination, next_attempt_at);
CREATE INDEX outbox_by_user ON outbox (user_id);
CREATE UNIQUE INDEX outbox_one_snapshot ON outbox (user_id) WHERE kind = 'snapshot';
CREATE UNIQUE INDEX outbox_one_deletion ON outbox (user_id) WHERE kind = 'deletion';

-- What happened to an account, under the bare user id: it outlives the user and names nobody.
CREATE TABLE audit (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT now(),
    user_id uuid NOT NULL,
    actor   text NOT NULL CHECK (actor IN ('user', 'operator', 'apple', 'system')),
    event   text NOT NULL
);
CREATE INDEX audit_by_user ON audit (user_id, at);
