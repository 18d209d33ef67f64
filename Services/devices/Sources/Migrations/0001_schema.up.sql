-- Push tokens and their owners, pushes and their targets, and what tokens' feed of revocations has reported. The
-- functions of the service are in SQL.
--
-- Rows of a user are in the user's bucket (`Contracts.Bucket`) in every table, and the owner of a push token under the
-- token's keyed hash: a distributed database finds each by the first column of its key. `devices` and `push_targets`
-- check no bucket, because each statement that writes a row parses the table's checks again.

-- ---- Registrations

CREATE TABLE push_token_owners (
    token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    user_id    uuid NOT NULL,
    epoch      bigint NOT NULL,
    claimed_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);
-- For the deletion of an account, which looks at every hash.
CREATE INDEX push_token_owners_user ON push_token_owners (user_id);
COMMENT ON TABLE push_token_owners IS
    'A token reaches one app on one device, so it belongs to one user: the user who registered it last. A registration '
    'of another user or epoch is void.';
COMMENT ON COLUMN push_token_owners.token_hash IS 'HMAC of token, environment, bundle id and kind.';
COMMENT ON COLUMN push_token_owners.epoch IS 'Rises with each change of owner, and is never given out again.';
COMMENT ON COLUMN push_token_owners.claimed_at IS
    'When the owner''s registration was last written. An owner without a registration is removed some time later.';

-- An outcome of a push to an earlier registration of a token must not change a later one, whatever is deleted meanwhile.
CREATE SEQUENCE push_token_epochs;

CREATE TABLE devices (
    bucket            smallint NOT NULL,
    id                uuid NOT NULL DEFAULT gen_random_uuid(),
    user_id           uuid NOT NULL,
    session_id        uuid NOT NULL,
    token_hash        bytea NOT NULL CHECK (octet_length(token_hash) = 32),
    token_epoch       bigint NOT NULL,
    sealed_token      bytea NOT NULL,
    environment       text NOT NULL CHECK (environment IN ('sandbox', 'production')),
    bundle_id         text NOT NULL,
    kind              text NOT NULL CHECK (kind IN ('alert', 'voip', 'liveactivity', 'pushtostart')),
    activity          text,
    attributes_type   text,
    installation_id   text,
    status            text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'invalid')),
    status_reason     text,
    live_until        timestamptz,
    apns_accepted_at  timestamptz,
    apns_paused_until timestamptz,
    locale            text,
    time_zone         text,
    app_version       text,
    os_version        text,
    model             text,
    created_at        timestamptz NOT NULL DEFAULT now(),
    last_seen_at      timestamptz NOT NULL DEFAULT now(),
    alerts_allowed    boolean,
    PRIMARY KEY (bucket, id)
) WITH (fillfactor = 80);
-- A user's devices, and one token of them.
CREATE UNIQUE INDEX devices_token ON devices (bucket, user_id, token_hash);
-- Of an installation: one token of a kind, one for each activity, one for each type of activities.
CREATE UNIQUE INDEX devices_installation ON devices (bucket, user_id, installation_id, environment, bundle_id, kind)
    WHERE installation_id IS NOT NULL AND kind NOT IN ('liveactivity', 'pushtostart');
CREATE UNIQUE INDEX devices_activity ON devices (bucket, user_id, installation_id, environment, bundle_id, activity)
    WHERE installation_id IS NOT NULL AND kind = 'liveactivity';
CREATE UNIQUE INDEX devices_start ON devices (bucket, user_id, installation_id, environment, bundle_id, attributes_type)
    WHERE installation_id IS NOT NULL AND kind = 'pushtostart';
CREATE INDEX devices_session ON devices (bucket, session_id);
COMMENT ON TABLE devices IS
    'One row for each token by which a user may be reached. `owned_devices` leaves out the void ones.';
COMMENT ON COLUMN devices.id IS 'Changes when another user takes the device over.';
COMMENT ON COLUMN devices.session_id IS 'The session that registered last. Its revocation removes the device.';
COMMENT ON COLUMN devices.token_epoch IS 'The owner''s epoch at the registration.';
COMMENT ON COLUMN devices.sealed_token IS
    'The length of the key''s id, the id, and the token sealed under that key, bound to token_hash.';
COMMENT ON COLUMN devices.activity IS 'The Live Activity that the token updates.';
COMMENT ON COLUMN devices.attributes_type IS 'The type of Live Activities that the token starts.';
COMMENT ON COLUMN devices.status_reason IS 'APNs'' reason for refusing the token.';
COMMENT ON COLUMN devices.live_until IS
    'When the session ends if it is not used before, by tokens'' last answer; NULL before the first.';
COMMENT ON COLUMN devices.apns_accepted_at IS
    'When APNs first accepted the token. NULL for one that a user may have invented.';
COMMENT ON COLUMN devices.apns_paused_until IS 'APNs has refused too many pushes in a row to the device (429).';
-- In no index, so that writing it is a heap-only update.
COMMENT ON COLUMN devices.last_seen_at IS 'The last registration.';
COMMENT ON COLUMN devices.alerts_allowed IS
    'Whether the user lets the app show notifications, by the app''s last registration.';

CREATE VIEW owned_devices AS
    SELECT devices.bucket, devices.id, devices.user_id, devices.session_id, devices.token_hash, devices.token_epoch,
           devices.sealed_token, devices.environment, devices.bundle_id, devices.kind, devices.installation_id,
           devices.status, devices.status_reason, devices.locale, devices.time_zone, devices.app_version,
           devices.os_version, devices.model, devices.created_at, devices.last_seen_at, devices.activity,
           devices.attributes_type, devices.apns_accepted_at, devices.apns_paused_until
    FROM devices
    JOIN push_token_owners AS owners ON owners.token_hash = devices.token_hash
        AND owners.user_id = devices.user_id AND owners.epoch = devices.token_epoch;
COMMENT ON VIEW owned_devices IS 'The registrations that are not void, for operators.';

CREATE TABLE push_token_days (
    bucket  smallint NOT NULL,
    user_id uuid NOT NULL,
    day     date NOT NULL,
    tokens  integer NOT NULL,
    PRIMARY KEY (bucket, user_id, day)
) WITH (fillfactor = 50);
CREATE INDEX push_token_days_day ON push_token_days (bucket, day);
COMMENT ON TABLE push_token_days IS 'New tokens of users in a day.';

CREATE TABLE user_tags (
    bucket     smallint NOT NULL CHECK (bucket BETWEEN 0 AND 4095),
    user_id    uuid NOT NULL,
    tag        text NOT NULL,
    written_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bucket, user_id, tag)
);
COMMENT ON TABLE user_tags IS 'Tags of users, by which segments are chosen.';
COMMENT ON COLUMN user_tags.tag IS 'A space and a tag, separated by a blank.';

CREATE TABLE erased_users (
    bucket    smallint NOT NULL,
    user_hash bytea NOT NULL,
    erased_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bucket, user_hash)
);
CREATE INDEX erased_users_time ON erased_users (bucket, erased_at);
COMMENT ON TABLE erased_users IS 'Users whose account was deleted. They get no tags.';
COMMENT ON COLUMN erased_users.user_hash IS 'SHA-256 of the id, so that no row names an erased user.';

CREATE TABLE security_events (
    bucket      smallint NOT NULL CHECK (bucket BETWEEN 0 AND 4095),
    user_id     uuid NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('tokenOwnerChanged')),
    new_user_id uuid NOT NULL,
    token       bytea NOT NULL CHECK (octet_length(token) = 8),
    epoch       bigint NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bucket, user_id, token, new_user_id)
);
CREATE INDEX security_events_time ON security_events (bucket, occurred_at);
COMMENT ON TABLE security_events IS
    'Tokens that changed hands, for operators. A token that passes between two users again and again is one event, with '
    'the time and the epoch of the last change.';
COMMENT ON COLUMN security_events.bucket IS 'The former owner''s.';
COMMENT ON COLUMN security_events.user_id IS 'The former owner.';
COMMENT ON COLUMN security_events.token IS 'The first 8 bytes of the token''s hash.';
COMMENT ON COLUMN security_events.epoch IS 'The new owner''s.';

-- ---- Revoked sessions

CREATE TABLE revoked_sessions (
    session_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    bucket     smallint NOT NULL CHECK (bucket BETWEEN 0 AND 4095),
    PRIMARY KEY (bucket, session_id)
);
CREATE INDEX revoked_sessions_expiry ON revoked_sessions (expires_at);
COMMENT ON TABLE revoked_sessions IS
    'Sessions that may not register any more, for as long as one of their access tokens may be valid.';

CREATE TABLE revocation_feed (
    only_row        boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    cursor          text,
    read_at         timestamptz,
    checked_through uuid
);
INSERT INTO revocation_feed DEFAULT VALUES;
COMMENT ON TABLE revocation_feed IS 'One row: the position in tokens'' feed of revocations.';
COMMENT ON COLUMN revocation_feed.read_at IS
    'When the feed was last read to its end. Entries can be lost if it has to be read from its beginning long afterwards.';
COMMENT ON COLUMN revocation_feed.checked_through IS
    'After a reset of the feed each session with a registration is checked: those after this one, in order. NULL for none.';

-- ---- Pushes

CREATE TYPE push_segment AS (
    bundle_id text, environment text, kind text, activity text, attributes_type text, locales text, time_zones text[],
    from_version bigint[], below_version bigint[], seen_since timestamptz, all_tags text[], any_tags text[],
    alerts_allowed boolean);
COMMENT ON TYPE push_segment IS 'The conditions that a device of a segment meets. NULL allows each device.';
COMMENT ON COLUMN push_segment.locales IS 'A regular expression for the locale in lower case.';
COMMENT ON COLUMN push_segment.from_version IS 'The first version, as of version_numbers.';
COMMENT ON COLUMN push_segment.below_version IS 'The first version that is too late.';

CREATE TABLE pushes (
    id                 uuid PRIMARY KEY,
    caller             text NOT NULL,
    idempotency_key    text,
    request_hash       bytea NOT NULL CHECK (octet_length(request_hash) = 32),
    state              text NOT NULL CHECK (state IN ('scheduled', 'sending', 'cancelled')),
    created_at         timestamptz NOT NULL DEFAULT now(),
    send_at            timestamptz,
    send_at_local      text,
    fallback_time_zone text,
    quiet_from         smallint,
    quiet_to           smallint,
    cap_per_day        integer,
    expires_at         timestamptz NOT NULL,
    day                date NOT NULL,
    bundle_id          text NOT NULL,
    environment        text,
    push_type          text NOT NULL,
    kind               text NOT NULL,
    activity           text,
    attributes_type    text,
    priority           smallint NOT NULL,
    collapse_id        text,
    payload            bytea NOT NULL,
    locales            text[],
    localized_payloads text[],
    on_doubt           text NOT NULL,
    urgency            text NOT NULL,
    recipient_buckets  smallint[] NOT NULL,
    recipient_kinds    text[] NOT NULL,
    recipient_ids      uuid[] NOT NULL,
    recipient_users    uuid[] NOT NULL,
    channel            uuid,
    segment            push_segment,
    slice_count        smallint,
    rate_per_minute    integer,
    recipient_count    integer NOT NULL DEFAULT 1,
    bytes              integer NOT NULL DEFAULT 0,
    recipients_done    integer NOT NULL DEFAULT 0,
    next_due_at        timestamptz,
    unknown_devices    integer NOT NULL DEFAULT 0
) WITH (fillfactor = 90);
-- For idempotency, and to find the callers.
CREATE UNIQUE INDEX pushes_key ON pushes (caller, idempotency_key);
-- To start pushes, and to count those that wait for it.
CREATE INDEX pushes_waiting ON pushes (caller, urgency, send_at, id) INCLUDE (recipient_count, bytes)
    WHERE state = 'scheduled';
CREATE INDEX pushes_waiting_segments ON pushes (caller) WHERE state = 'scheduled' AND slice_count IS NOT NULL;
CREATE INDEX pushes_day ON pushes (day);
COMMENT ON TABLE pushes IS 'Pushes with their recipients.';
COMMENT ON COLUMN pushes.caller IS 'The calling service. It sees its own pushes.';
COMMENT ON COLUMN pushes.idempotency_key IS 'NULL when the caller has used the key again, a day later.';
COMMENT ON COLUMN pushes.request_hash IS 'SHA-256 of the request.';
COMMENT ON COLUMN pushes.state IS
    '`scheduled` until the targets of all recipients exist, then `sending`, unless the push was cancelled.';
COMMENT ON COLUMN pushes.send_at IS
    'When the push starts; with send_at_local, when the first recipient may be due.';
COMMENT ON COLUMN pushes.send_at_local IS 'The time by each recipient''s clock, as `2026-12-24T09:00:00`.';
COMMENT ON COLUMN pushes.fallback_time_zone IS 'Of recipients that have registered none.';
COMMENT ON COLUMN pushes.quiet_from IS 'Minutes after midnight by each recipient''s clock.';
COMMENT ON COLUMN pushes.quiet_to IS 'Minutes after midnight by each recipient''s clock.';
COMMENT ON COLUMN pushes.cap_per_day IS 'Pushes with a cap that a user receives in a day; NULL without a cap.';
COMMENT ON COLUMN pushes.day IS 'The day of expires_at, by which the row is purged.';
COMMENT ON COLUMN pushes.kind IS 'The kind of the registrations that receive it.';
COMMENT ON COLUMN pushes.activity IS 'Limits them to those of one activity.';
COMMENT ON COLUMN pushes.attributes_type IS 'Limits them to those of one type of activities.';
COMMENT ON COLUMN pushes.payload IS 'Of a template: in the fallback locale.';
COMMENT ON COLUMN pushes.locales IS 'The locales of a template that has several.';
COMMENT ON COLUMN pushes.localized_payloads IS 'The payload of each.';
COMMENT ON COLUMN pushes.recipient_kinds IS '`user`, `session`, `device` or `channel`.';
COMMENT ON COLUMN pushes.recipient_users IS 'The users of devices.';
COMMENT ON COLUMN pushes.channel IS
    'The channel of a broadcast. Its only target has the channel''s id as device and user.';
COMMENT ON COLUMN pushes.slice_count IS 'NULL unless the push is to a segment.';
COMMENT ON COLUMN pushes.bytes IS 'Of the payloads and recipients.';
COMMENT ON COLUMN pushes.recipients_done IS 'The first recipients, whose targets exist.';
COMMENT ON COLUMN pushes.next_due_at IS 'With a rate: when the first target of the next recipient is due.';
COMMENT ON COLUMN pushes.unknown_devices IS
    'Named devices without a registration. The first ones have a target with the reason `noDevice`.';

CREATE TABLE push_targets (
    bucket      smallint NOT NULL,
    push_id     uuid NOT NULL,
    device_id   uuid NOT NULL,
    user_id     uuid NOT NULL,
    caller      text NOT NULL,
    urgency     text NOT NULL,
    state       text NOT NULL,
    reason      text,
    due_at      timestamptz,
    attempts    integer NOT NULL DEFAULT 0,
    lease_epoch bigint NOT NULL DEFAULT 0,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    day         date NOT NULL,
    claim_id    uuid,
    is_takeover boolean NOT NULL DEFAULT false,
    PRIMARY KEY (bucket, push_id, device_id)
) WITH (fillfactor = 80);
-- With the state, so that a survey reads the index alone.
CREATE INDEX push_targets_waiting ON push_targets (caller, urgency, due_at) INCLUDE (state) WHERE due_at IS NOT NULL;
CREATE INDEX push_targets_dead ON push_targets (caller, push_id, device_id) WHERE state = 'dead';
CREATE INDEX push_targets_day ON push_targets (bucket, day);
-- What a user did not receive. Devices that a caller invents are in an index of their own, so that they do not come
-- before failures of the user's devices.
CREATE INDEX push_targets_failed ON push_targets (bucket, user_id, updated_at)
    WHERE due_at IS NULL AND state <> 'accepted' AND reason IS DISTINCT FROM 'noDevice';
CREATE INDEX push_targets_unknown ON push_targets (bucket, user_id, updated_at)
    WHERE due_at IS NULL AND reason = 'noDevice';
COMMENT ON TABLE push_targets IS 'The state of a push on each device.';
COMMENT ON COLUMN push_targets.state IS '`DeliveryRules.swift` has the values.';
COMMENT ON COLUMN push_targets.due_at IS
    'When it may be claimed. Of a claimed one: the end of the lease. NULL in a final state.';
COMMENT ON COLUMN push_targets.attempts IS 'How often it was sent, or may have been.';
COMMENT ON COLUMN push_targets.lease_epoch IS
    'Rises with each claim. Only the holder of the latest lease records an outcome.';
COMMENT ON COLUMN push_targets.day IS 'The push''s.';
COMMENT ON COLUMN push_targets.claim_id IS
    'Differs for each statement that claims from the queue, so that a replica finds its own claim after a lost answer. '
    'NULL of a target that was claimed with its push.';
COMMENT ON COLUMN push_targets.is_takeover IS 'Another replica held the target before, and may have sent it.';

CREATE TABLE push_slices (
    push_id       uuid NOT NULL REFERENCES pushes ON DELETE CASCADE,
    slice         smallint NOT NULL,
    caller        text NOT NULL,
    first_bucket  smallint NOT NULL,
    last_bucket   smallint NOT NULL,
    state         text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'expired', 'cancelled')),
    cursor_bucket smallint NOT NULL,
    cursor_device uuid NOT NULL,
    page_bucket   smallint,
    page_device   uuid,
    page_devices  integer,
    due_at        timestamptz NOT NULL,
    lease_epoch   bigint NOT NULL DEFAULT 0,
    devices       bigint NOT NULL DEFAULT 0,
    accepted      bigint NOT NULL DEFAULT 0,
    targets       bigint NOT NULL DEFAULT 0,
    in_doubt      bigint NOT NULL DEFAULT 0,
    claim_id      uuid,
    PRIMARY KEY (push_id, slice)
) WITH (fillfactor = 50);
-- Without `due_at` and the cursor, so that the update of a page is heap-only.
CREATE INDEX push_slices_open ON push_slices (caller, push_id) WHERE state = 'open';
COMMENT ON TABLE push_slices IS
    'The devices of a push to a segment are read in slices, which are ranges of buckets, page by page. A device that '
    'accepts the push has no row in push_targets: the slice counts it.';
COMMENT ON COLUMN push_slices.cursor_bucket IS
    'With cursor_device: the last device that was sent to, or has a row in push_targets.';
COMMENT ON COLUMN push_slices.page_bucket IS
    'With page_device: the end of the page that a replica sends. NULL without one.';
COMMENT ON COLUMN push_slices.page_devices IS 'The devices of that page.';
COMMENT ON COLUMN push_slices.due_at IS 'When a replica may claim the slice. With a page: the end of the lease.';
COMMENT ON COLUMN push_slices.lease_epoch IS
    'Rises with each claim and each page. Only the holder of the latest one moves the cursor.';
COMMENT ON COLUMN push_slices.devices IS 'Devices up to the cursor.';
COMMENT ON COLUMN push_slices.accepted IS 'Those that accepted the push at once.';
COMMENT ON COLUMN push_slices.targets IS 'Those that have a row in push_targets.';
COMMENT ON COLUMN push_slices.in_doubt IS 'Those of pages that a dead replica held and that are not repeated.';
COMMENT ON COLUMN push_slices.claim_id IS 'Of the last call of advance_push_slice, as in push_targets.';

CREATE TABLE push_rates (
    push_id uuid PRIMARY KEY REFERENCES pushes ON DELETE CASCADE,
    next_at timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE push_rates IS 'When the next page of a push with a rate may be read.';

CREATE TABLE push_user_days (
    bucket  smallint NOT NULL CHECK (bucket BETWEEN 0 AND 4095),
    user_id uuid NOT NULL,
    day     date NOT NULL,
    pushes  uuid[] NOT NULL,
    apps    text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (bucket, user_id, day)
) WITH (fillfactor = 80);
CREATE INDEX push_user_days_day ON push_user_days (bucket, day);
COMMENT ON TABLE push_user_days IS 'The pushes with a cap that a user has received in a day of UTC.';
COMMENT ON COLUMN push_user_days.pushes IS
    'Their ids, so that a push to several devices, or one that is repeated, counts once.';
COMMENT ON COLUMN push_user_days.apps IS 'The app of each push.';

CREATE TABLE push_channels (
    id           uuid PRIMARY KEY,
    bundle_id    text NOT NULL,
    environment  text NOT NULL CHECK (environment IN ('production', 'sandbox')),
    channel_id   text NOT NULL,
    storage      text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    paused_until timestamptz
);
CREATE INDEX push_channels_app ON push_channels (bundle_id, environment, id);
COMMENT ON TABLE push_channels IS
    'Broadcast channels. Apple''s list decides which exist: at most 10,000 of an app in each environment.';
COMMENT ON COLUMN push_channels.id IS 'A UUIDv5 of bundle_id, environment and channel_id.';
COMMENT ON COLUMN push_channels.channel_id IS 'Apple''s identifier.';
COMMENT ON COLUMN push_channels.storage IS 'NULL if the channel was found in Apple''s list.';
COMMENT ON COLUMN push_channels.paused_until IS 'APNs has refused too many broadcasts in a row (429).';

-- ---- The feed of outcomes

-- The primary key is the only index, so that no plan looks for recent entries by another one.
CREATE TABLE pending_push_outcomes (
    bucket      smallint NOT NULL CHECK (bucket BETWEEN 0 AND 4095),
    entry_id    uuid NOT NULL DEFAULT gen_random_uuid(),
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    caller      text NOT NULL,
    push_id     uuid NOT NULL,
    device_id   uuid NOT NULL,
    user_id     uuid NOT NULL,
    state       text NOT NULL,
    reason      text,
    PRIMARY KEY (occurred_at, entry_id, bucket)
);
COMMENT ON TABLE pending_push_outcomes IS
    'Final outcomes that have no number in push_outcome_log yet. Acceptances are left out: they cost no further write.';

CREATE TABLE push_outcome_log (
    seq         bigint PRIMARY KEY,
    tag         bigint NOT NULL,
    entry_id    uuid NOT NULL UNIQUE,
    stamped_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    occurred_at timestamptz NOT NULL,
    caller      text NOT NULL,
    push_id     uuid NOT NULL,
    device_id   uuid NOT NULL,
    user_id     uuid NOT NULL,
    state       text NOT NULL,
    reason      text
);
COMMENT ON TABLE push_outcome_log IS
    'The feed of outcomes: committed entries under consecutive numbers, which stamp_push_outcomes gives. The newest row '
    'is never removed, so that a cursor stays valid while nothing happens.';
COMMENT ON COLUMN push_outcome_log.tag IS
    'Random. A number may be given out again after a restore or a fail-over that lost entries, but not its tag.';

CREATE TABLE push_outcome_head (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row));
INSERT INTO push_outcome_head DEFAULT VALUES;
COMMENT ON TABLE push_outcome_head IS 'One row. Its lock lets one transaction at a time add to push_outcome_log.';

-- ---- Types of functions

CREATE TYPE push_claim AS (
    device_id uuid, user_id uuid, lease_epoch bigint, attempts integer, reason text, is_takeover boolean,
    claimed_at timestamptz, token_hash bytea, token_epoch bigint, sealed_token bytea, environment text, refusal text,
    last_seen_at timestamptz, is_proven boolean, paused_until timestamptz, session_id uuid, live_until timestamptz,
    locale text, time_zone text);
COMMENT ON TYPE push_claim IS
    'A target that a replica has claimed, with its registration. Columns of the registration are NULL if it is gone. '
    'push_token_owners decides whether the token still belongs to the user.';

CREATE TYPE push_target_row AS (
    bucket smallint, device_id uuid, user_id uuid, state text, reason text, updated_at timestamptz, attempts integer);
COMMENT ON TYPE push_target_row IS 'A target as callers see it.';
