-- The accounts, what they sign in with, what is still to be delivered, and the audit log.

-- ---- Users and their credentials

CREATE TABLE users (
    id                  uuid PRIMARY KEY,
    display_name        text,
    role                text NOT NULL DEFAULT 'user',
    store_ids           text[] NOT NULL DEFAULT '{}',
    state               text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'disabled')),
    version             bigint NOT NULL DEFAULT 1,
    credentials_version bigint NOT NULL DEFAULT 1,
    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz,
    devices_since       timestamptz
);
CREATE INDEX users_by_age ON users (created_at, id);
CREATE INDEX users_by_role ON users (role, created_at, id) WHERE role <> 'user';
CREATE INDEX users_disabled ON users (created_at, id) WHERE state = 'disabled';
COMMENT ON TABLE users IS 'The accounts of the app.';
COMMENT ON COLUMN users.version IS
    'Rises with each change that other services see. tokens keeps the highest that it has received.';
COMMENT ON COLUMN users.credentials_version IS
    'Rises with each change of the password, the state or a credential, and when an identifier is lost. A sign-in reads '
    'it again after it has created its session.';
COMMENT ON COLUMN users.devices_since IS
    'Device tokens issued before this time are void. An undo and a new password set it; NULL before the first of these.';

CREATE TABLE identifiers (
    kind        text NOT NULL CHECK (kind IN ('email', 'phone')),
    value       text NOT NULL,
    user_id     uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    verified    boolean NOT NULL,
    changed_at  timestamptz DEFAULT now(),
    merged_from uuid,
    merged_at   timestamptz,
    PRIMARY KEY (kind, value),
    UNIQUE (user_id, kind)
);
CREATE INDEX identifiers_by_prefix ON identifiers (value text_pattern_ops);
COMMENT ON TABLE identifiers IS
    'Mail addresses and phone numbers. Each has one owner; the owner may change while the identifier is unverified.';
COMMENT ON COLUMN identifiers.changed_at IS 'When the identifier became the user''s; NULL if that is not known.';
COMMENT ON COLUMN identifiers.merged_from IS
    'The account that the identifier came from by a merge; NULL if it has always been this account''s.';

CREATE TABLE credentials (
    id           uuid PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    kind         text NOT NULL,
    provider     text NOT NULL DEFAULT '',
    subject      text,
    name         text,
    email        text,
    is_single    boolean NOT NULL,
    verified_at  timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    merged_from  uuid,
    merged_at    timestamptz,
    UNIQUE (kind, provider, subject)
);
CREATE INDEX credentials_by_user ON credentials (user_id);
CREATE UNIQUE INDEX credentials_single ON credentials (user_id, kind, provider) WHERE is_single;
COMMENT ON TABLE credentials IS
    'What users sign in with, of every kind. The details of a kind are in a table of its own. Verified identifiers open '
    'accounts by code, without a row here.';
COMMENT ON COLUMN credentials.provider IS 'Empty where the kind has no providers.';
COMMENT ON COLUMN credentials.subject IS 'The provider''s identifier of the user; NULL where the kind has none.';
COMMENT ON COLUMN credentials.name IS 'By which the user knows it among several; NULL where a user has one.';
COMMENT ON COLUMN credentials.email IS 'The address that the provider told last. It verifies nothing.';
COMMENT ON COLUMN credentials.is_single IS 'Whether a user has at most one of the kind and provider.';
COMMENT ON COLUMN credentials.verified_at IS
    'Since when it proves who the user is; NULL for one that does not, such as a password.';
COMMENT ON COLUMN credentials.last_used_at IS 'When the user last signed in with it. Written once a day.';
COMMENT ON COLUMN credentials.merged_from IS
    'The account that it came from by a merge; NULL if it has always been this account''s.';

CREATE TABLE passwords (
    credential_id uuid PRIMARY KEY REFERENCES credentials ON DELETE CASCADE,
    hash          text NOT NULL,
    changed_at    timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE apple_identities (
    credential_id uuid PRIMARY KEY REFERENCES credentials ON DELETE CASCADE,
    client_id     text NOT NULL,
    refresh_token bytea,
    consented_at  timestamptz
);
COMMENT ON COLUMN apple_identities.refresh_token IS 'Sealed for the credential.';
COMMENT ON COLUMN apple_identities.consented_at IS
    'When Apple last confirmed that the user agrees to the app. Notifications about earlier consents do not count.';

-- ---- Sign in with Apple

CREATE TABLE used_nonces (
    digest       bytea PRIMARY KEY,
    token_digest bytea NOT NULL,
    used_at      timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL
);
CREATE INDEX used_nonces_by_expiry ON used_nonces (expires_at);
COMMENT ON TABLE used_nonces IS
    'Nonces that were used, until their identity tokens expire. The same pair soon afterwards is the retry of a client '
    'that has lost the answer.';
COMMENT ON COLUMN used_nonces.token_digest IS 'The identity token that contained the nonce.';

CREATE TABLE apple_notifications (
    id          text PRIMARY KEY,
    received_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX apple_notifications_by_age ON apple_notifications (received_at);
COMMENT ON TABLE apple_notifications IS 'Notifications that were processed. Apple repeats one until it is answered.';

CREATE TABLE mail_forwarding (
    user_id    uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    email      text NOT NULL,
    enabled    boolean NOT NULL,
    changed_at timestamptz NOT NULL
);
CREATE INDEX mail_forwarding_disabled ON mail_forwarding (email) WHERE NOT enabled;
COMMENT ON TABLE mail_forwarding IS
    'Whether Apple forwards mail to a user''s private relay address, by its newest notification.';

CREATE TABLE apple_transfers (
    credential_id    uuid PRIMARY KEY REFERENCES credentials ON DELETE CASCADE,
    team             text NOT NULL,
    transfer_subject text NOT NULL UNIQUE,
    created_at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX apple_transfers_by_team ON apple_transfers (team, credential_id);
COMMENT ON TABLE apple_transfers IS 'Users whose Apple identity moves to another team.';
COMMENT ON COLUMN apple_transfers.transfer_subject IS 'The identifier of the user that Apple gives both teams.';

-- ---- Codes, and links that were sent

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
COMMENT ON TABLE codes IS
    'Codes that were sent to verify an identifier. A row stays for an hour, so that further requests can be limited.';
COMMENT ON COLUMN codes.subject IS 'HMAC of the identifier.';
COMMENT ON COLUMN codes.network IS 'HMAC of the network that asked for the code.';
COMMENT ON COLUMN codes.digest IS 'HMAC of the code.';
COMMENT ON COLUMN codes.link_digest IS 'HMAC of the token in the message''s link.';
COMMENT ON COLUMN codes.sealed IS 'The identifier, sealed.';

CREATE TABLE code_repeats (
    id         uuid PRIMARY KEY,
    subject    text NOT NULL,
    purpose    text NOT NULL,
    sealed     bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    UNIQUE (subject, purpose)
);
CREATE INDEX code_repeats_by_age ON code_repeats (expires_at);
COMMENT ON TABLE code_repeats IS
    'Requests for a code that were answered without a new message: the link of the code sent before serves them. One '
    'row for each identifier and purpose, since the number of such requests has no limit.';
COMMENT ON COLUMN code_repeats.subject IS 'HMAC of the identifier.';
COMMENT ON COLUMN code_repeats.sealed IS 'The identifier, sealed.';

CREATE TABLE password_resets (
    digest              bytea PRIMARY KEY,
    user_id             uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    credentials_version bigint NOT NULL,
    kind                text NOT NULL,
    value               text NOT NULL,
    expires_at          timestamptz NOT NULL
);
CREATE INDEX password_resets_by_user ON password_resets (user_id);
CREATE INDEX password_resets_by_expiry ON password_resets (expires_at);
COMMENT ON TABLE password_resets IS
    'Links for a new password. The holder of the token has received it at the identifier, and may set the password.';
COMMENT ON COLUMN password_resets.digest IS 'SHA-256 of the link''s token.';
COMMENT ON COLUMN password_resets.credentials_version IS 'The user''s when the link was sent. A later change voids it.';

CREATE TABLE identifier_changes (
    digest       bytea PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    kind         text NOT NULL,
    value        text NOT NULL,
    changed_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    since        timestamptz,
    merged_from  uuid,
    merged_at    timestamptz,
    is_merge     boolean NOT NULL DEFAULT false,
    is_contested boolean NOT NULL DEFAULT false
);
CREATE INDEX identifier_changes_by_user ON identifier_changes (user_id, kind);
CREATE INDEX identifier_changes_by_expiry ON identifier_changes (expires_at);
COMMENT ON TABLE identifier_changes IS
    'Links that undo the change or removal of a verified identifier. The holder of the token has received it there.';
COMMENT ON COLUMN identifier_changes.digest IS 'SHA-256 of the link''s token.';
COMMENT ON COLUMN identifier_changes.since IS 'Since when the account had the identifier.';
COMMENT ON COLUMN identifier_changes.merged_from IS 'The identifier''s, as in identifiers.';
COMMENT ON COLUMN identifier_changes.is_merge IS 'A merge created the link, not a change.';
COMMENT ON COLUMN identifier_changes.is_contested IS 'The other side of the merge has been restored since.';

CREATE TABLE lost_identifiers (
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    kind    text NOT NULL CHECK (kind IN ('email', 'phone')),
    value   text NOT NULL,
    lost_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, kind)
);
CREATE INDEX lost_identifiers_by_value ON lost_identifiers (kind, value, lost_at);
COMMENT ON TABLE lost_identifiers IS
    'Identifiers that an account has lost to another one, which verified them. Its present owner may merge both accounts '
    'with the password of the one that lost it.';

-- ---- Devices and networks of earlier sign-ins

CREATE TABLE known_devices (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    digest       text NOT NULL,
    last_used_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, digest)
);
CREATE INDEX known_devices_by_use ON known_devices (last_used_at);
COMMENT ON TABLE known_devices IS 'Devices on which the user has signed in.';
COMMENT ON COLUMN known_devices.digest IS 'HMAC of the device''s own identifier.';
COMMENT ON COLUMN known_devices.last_used_at IS 'Written once a day.';

CREATE TABLE known_networks (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    digest       text NOT NULL,
    last_used_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, digest)
);
CREATE INDEX known_networks_by_use ON known_networks (last_used_at);
COMMENT ON TABLE known_networks IS
    'Networks from which the user has signed in. Codes and password resets requested there have limits of their own.';
COMMENT ON COLUMN known_networks.digest IS 'HMAC of the network and the account.';
COMMENT ON COLUMN known_networks.last_used_at IS 'Written once a day.';

-- ---- Deliveries to other services

CREATE TABLE outbox (
    id              uuid PRIMARY KEY,
    kind            text NOT NULL,
    destination     text NOT NULL CHECK (destination IN ('tokens', 'devices', 'apple', 'mail', 'phone')),
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
COMMENT ON TABLE outbox IS
    'Tasks to deliver: committed with the change that causes them, removed when they are done. Each destination is '
    'served apart, so that a slow one delays no other.';
COMMENT ON COLUMN outbox.kind IS 'The name of the task''s `OutboxPayload`.';
COMMENT ON COLUMN outbox.sealed IS 'The secret part of the task, sealed.';
COMMENT ON COLUMN outbox.next_attempt_at IS 'A replica that claims the task moves it 15 s on.';

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
COMMENT ON TABLE webhooks IS 'The position of each receiver in the feed of events.';

CREATE TABLE revocation_feed (
    only_row      boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    cursor        text,
    revision      bigint NOT NULL DEFAULT 1,
    claimed_until timestamptz NOT NULL DEFAULT now(),
    read_at       timestamptz NOT NULL DEFAULT now()
);
INSERT INTO revocation_feed DEFAULT VALUES;
COMMENT ON TABLE revocation_feed IS
    'One row: the position in tokens'' feed of revocations. One process at a time has claimed it.';

-- ---- The audit log. Its triggers and functions are in SQL.

CREATE TABLE audit_entries (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at            timestamptz NOT NULL DEFAULT now(),
    user_id       uuid NOT NULL,
    actor         text NOT NULL CHECK (actor IN ('user', 'operator', 'apple', 'system', 'unknown')),
    actor_id      text,
    event         text NOT NULL,
    detail        text,
    session_id    uuid,
    count         integer NOT NULL DEFAULT 1,
    origin_digest bytea
);
CREATE INDEX audit_entries_by_user ON audit_entries (user_id, id);
CREATE INDEX audit_entries_by_age ON audit_entries (at, id);
CREATE INDEX audit_entries_by_event ON audit_entries (event, at, id);
-- A session ends once, however often the feed reports it.
CREATE UNIQUE INDEX audit_entries_of_session_ends ON audit_entries (session_id) WHERE event = 'session_revoked';
REVOKE UPDATE, TRUNCATE ON audit_entries FROM CURRENT_USER;
COMMENT ON TABLE audit_entries IS
    'What happened to accounts. Rows are only added, and removed by age. They outlive the account and hold no address.';
COMMENT ON COLUMN audit_entries.user_id IS 'The account; zeros for none.';
COMMENT ON COLUMN audit_entries.actor_id IS
    'A user''s id, the login name at the command line, or `admin` with the name of a system.';
COMMENT ON COLUMN audit_entries.event IS 'The name of an `AuditEvent`.';
COMMENT ON COLUMN audit_entries.origin_digest IS 'SHA-256 of the row in audit_origins, with its salt.';

CREATE TABLE audit_origins (
    entry_id    bigint PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT now(),
    user_id     uuid REFERENCES users ON DELETE CASCADE,
    salt        bytea NOT NULL,
    address     text,
    user_agent  text,
    device      text,
    app_version text
);
CREATE INDEX audit_origins_by_user ON audit_origins (user_id);
CREATE INDEX audit_origins_by_age ON audit_origins (at);
COMMENT ON TABLE audit_origins IS
    'Where the actor of an entry was. Removed by age, and with the account. The entry keeps a hash over salt, which is '
    'removed too.';
COMMENT ON COLUMN audit_origins.user_id IS 'The actor, or the account that an unknown actor tried.';

CREATE TABLE pending_audit_entries (
    entry_id bigint NOT NULL,
    added_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    PRIMARY KEY (added_at, entry_id)
);
COMMENT ON TABLE pending_audit_entries IS 'Entries that have no number in audit_log yet.';

CREATE TABLE audit_log (
    seq      bigint PRIMARY KEY,
    tag      bigint NOT NULL,
    entry_id bigint NOT NULL UNIQUE,
    at       timestamptz NOT NULL
);
REVOKE UPDATE, TRUNCATE ON audit_log FROM CURRENT_USER;
COMMENT ON TABLE audit_log IS
    'The order of audit_entries, for the feed of events and the chain of hashes. Entries are not committed in the order '
    'of their ids, so stamp_audit_entries gives each a number after its commit.';
COMMENT ON COLUMN audit_log.tag IS
    'Random. A number may be given out again after a restore or a fail-over that lost entries, but not its tag.';
COMMENT ON COLUMN audit_log.at IS 'The entry''s.';

CREATE TABLE audit_head (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row));
INSERT INTO audit_head DEFAULT VALUES;
COMMENT ON TABLE audit_head IS 'One row. Its lock lets one transaction at a time add to audit_log.';

CREATE TABLE audit_seals (
    number      bigint PRIMARY KEY,
    at          timestamptz NOT NULL,
    previous_at timestamptz,
    last_seq    bigint NOT NULL,
    entries     integer NOT NULL,
    previous    bytea NOT NULL,
    digest      bytea NOT NULL,
    key_id      text NOT NULL,
    tag         bytea NOT NULL
);
REVOKE UPDATE, TRUNCATE ON audit_seals FROM CURRENT_USER;
COMMENT ON TABLE audit_seals IS
    'The chain of hashes. A row covers the entries after last_seq of the row before it, and the digest of that row.';
COMMENT ON COLUMN audit_seals.previous IS 'The digest of the row before; 32 zeros in the first row.';
COMMENT ON COLUMN audit_seals.digest IS 'SHA-256 of the columns before it and the entries.';
COMMENT ON COLUMN audit_seals.key_id IS 'Names the pepper of tag.';
COMMENT ON COLUMN audit_seals.tag IS 'HMAC of the digest.';

CREATE TABLE audit_counts (
    at              timestamptz PRIMARY KEY,
    signed_in       bigint NOT NULL,
    sign_in_refused bigint NOT NULL,
    registered      bigint NOT NULL
);
COMMENT ON TABLE audit_counts IS
    'Sign-ins, refused sign-ins and registrations in each five minutes of the last days, for the operators'' overview. '
    'They are counted from sealed entries in the background, so that no sign-in waits for a counter.';

CREATE TABLE audit_counts_progress (
    only_row        boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    counted_through bigint NOT NULL
);
INSERT INTO audit_counts_progress (counted_through) VALUES (0);
COMMENT ON TABLE audit_counts_progress IS 'One row: the number of the last entry that is counted.';

CREATE TABLE deleted_users (
    user_id uuid PRIMARY KEY,
    at      timestamptz NOT NULL
);
CREATE INDEX deleted_users_by_age ON deleted_users (at);
COMMENT ON TABLE deleted_users IS
    'Deleted users whose entries in the audit log were removed before tokens forgets the deletion. An import creates no '
    'user with such an id, because tokens would give that user no session.';
