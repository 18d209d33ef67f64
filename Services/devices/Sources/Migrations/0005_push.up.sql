-- Pushes, and where each stands on each device. A push has one row, which names its recipients and the buckets of its
-- targets. A target stands in its user's bucket. Each function below touches one bucket, its first argument.
CREATE TABLE pushes (
    id               uuid        NOT NULL PRIMARY KEY,
    -- The calling service. It sees its own pushes.
    caller           text        NOT NULL,
    -- NULL when the caller has used the key again, a day later.
    idempotency_key  text,
    -- SHA-256 of the request.
    request_hash     bytea       NOT NULL CHECK (octet_length(request_hash) = 32),
    -- `scheduled` before `send_at`: it has no targets yet. `sending` ever after, unless it was cancelled.
    state            text        NOT NULL CHECK (state IN ('scheduled', 'sending', 'cancelled')),
    created_at       timestamptz NOT NULL DEFAULT now(),
    -- Of one that is due by each recipient's clock: when the first one may be due.
    send_at          timestamptz,
    -- The time by each recipient's clock, as `2026-12-24T09:00:00`.
    send_at_local    text,
    -- The time zone of recipients that have registered none.
    fallback_time_zone text,
    -- Minutes after midnight by each recipient's clock.
    quiet_from       smallint,
    quiet_to         smallint,
    -- Pushes with a cap that a user receives in a day; NULL without a cap.
    cap_per_day      integer,
    expires_at       timestamptz NOT NULL,
    -- That of `expires_at`, by which the row is purged.
    day              date        NOT NULL,
    bundle_id        text        NOT NULL,
    environment      text,
    push_type        text        NOT NULL,
    -- The kind of the registrations that receive it; of those the ones of an activity, and of a type of activities.
    kind             text        NOT NULL,
    activity         text,
    attributes_type  text,
    priority         smallint    NOT NULL,
    collapse_id      text,
    -- Of a template: in the fallback locale.
    payload          bytea       NOT NULL,
    -- The locales of a template that has several, and the payload of each.
    locales          text[],
    localized_payloads text[],
    on_doubt         text        NOT NULL,
    urgency          text        NOT NULL,
    -- The recipients: buckets, kinds (`user`, `session`, `device`, `channel`), ids, and the users of devices.
    recipient_buckets  smallint[]  NOT NULL,
    recipient_kinds    text[]      NOT NULL,
    recipient_ids      uuid[]      NOT NULL,
    recipient_users    uuid[]      NOT NULL
) WITH (fillfactor = 90);

-- For idempotency, and to find the callers.
CREATE UNIQUE INDEX pushes_key ON pushes (caller, idempotency_key);
CREATE INDEX pushes_scheduled ON pushes (send_at) WHERE state = 'scheduled';
CREATE INDEX pushes_scheduled_caller ON pushes (caller) WHERE state = 'scheduled';
CREATE INDEX pushes_day ON pushes (day);

CREATE TABLE push_targets (
    bucket       smallint    NOT NULL CHECK (bucket BETWEEN 0 AND 4095),
    push_id      uuid        NOT NULL,
    device_id    uuid        NOT NULL,
    user_id      uuid        NOT NULL,
    caller       text        NOT NULL,
    urgency      text        NOT NULL,
    -- See `DeliveryRules.swift`.
    state        text        NOT NULL,
    reason       text,
    -- When it may be claimed. Of a claimed one: the end of the lease. NULL in a final state.
    due_at       timestamptz,
    -- How often it was sent, or may have been.
    attempts     integer     NOT NULL DEFAULT 0,
    -- Rises with each claim. Only the holder of the latest lease records an outcome.
    lease_epoch  bigint      NOT NULL DEFAULT 0,
    updated_at   timestamptz NOT NULL DEFAULT now(),
    -- That of the push.
    day          date        NOT NULL,
    PRIMARY KEY (bucket, push_id, device_id)
) WITH (fillfactor = 80);

CREATE INDEX push_targets_due ON push_targets (caller, urgency, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX push_targets_dead ON push_targets (caller, push_id, device_id) WHERE state = 'dead';
CREATE INDEX push_targets_day ON push_targets (bucket, day);
-- What a user did not receive. An accepted push is never in it.
CREATE INDEX push_targets_undelivered ON push_targets (bucket, user_id, updated_at)
    WHERE due_at IS NULL AND state <> 'accepted';

-- The feed of outcomes: each final one but acceptances, which so cost no further write. See `StampedFeed`.
CREATE TABLE pending_push_outcomes (
    bucket      smallint    NOT NULL CHECK (bucket BETWEEN 0 AND 4095),
    entry_id    uuid        NOT NULL DEFAULT gen_random_uuid(),
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    caller      text        NOT NULL,
    push_id     uuid        NOT NULL,
    device_id   uuid        NOT NULL,
    user_id     uuid        NOT NULL,
    state       text        NOT NULL,
    reason      text,
    -- The only index, so that no plan looks for recent entries by another one.
    PRIMARY KEY (occurred_at, entry_id, bucket)
);

-- Committed entries under consecutive numbers. The newest row is never removed, so that a cursor stays valid while
-- nothing happens.
CREATE TABLE push_outcome_log (
    seq         bigint      NOT NULL PRIMARY KEY,
    -- Random. After a restore or a fail-over that lost entries, a number is given out again, but not its tag.
    tag         bigint      NOT NULL,
    entry_id    uuid        NOT NULL UNIQUE,
    stamped_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    occurred_at timestamptz NOT NULL,
    caller      text        NOT NULL,
    push_id     uuid        NOT NULL,
    device_id   uuid        NOT NULL,
    user_id     uuid        NOT NULL,
    state       text        NOT NULL,
    reason      text
);

-- One row. Its lock lets one transaction at a time add to the log.
CREATE TABLE push_outcome_head (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row));
INSERT INTO push_outcome_head DEFAULT VALUES;

-- Moves pending entries into the log: at most `most`, and only those of the last `reach` seconds where that is given.
-- `head` and `tag` are those of the log's newest row, `cost` the seconds that the look for pending entries took. The
-- plan never reads the whole table, however many rows in it are dead. The planner then thinks the scan of the head's one
-- row immense, which JIT would compile for 60 ms.
CREATE FUNCTION stamp_push_outcomes(
    reach double precision, most integer,
    OUT stamped bigint, OUT head bigint, OUT tag bigint, OUT cost double precision)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
    start timestamptz := clock_timestamp();
    since timestamptz := coalesce(start - reach * interval '1 second', '-infinity');
    is_pending boolean := EXISTS (SELECT FROM pending_push_outcomes WHERE occurred_at >= since);
BEGIN
    stamped := 0;
    cost := extract(epoch FROM clock_timestamp() - start);
    IF is_pending THEN
        PERFORM FROM push_outcome_head FOR UPDATE;
        -- This statement began after the lock was given, so it sees the numbers of every earlier stamping.
        WITH next AS MATERIALIZED (
            SELECT * FROM pending_push_outcomes WHERE occurred_at >= since ORDER BY occurred_at LIMIT most
        ), taken AS (
            DELETE FROM pending_push_outcomes AS pending USING next
            WHERE pending.occurred_at = next.occurred_at AND pending.entry_id = next.entry_id
              AND pending.bucket = next.bucket
        ), added AS (
            INSERT INTO push_outcome_log
                (seq, tag, entry_id, occurred_at, caller, push_id, device_id, user_id, state, reason)
            SELECT
                coalesce((SELECT seq FROM push_outcome_log ORDER BY seq DESC LIMIT 1), 0) + row_number() OVER (),
                ('x' || encode(substr(sha256(uuid_send(gen_random_uuid())), 1, 8), 'hex'))::bit(64)::bigint,
                entry_id, occurred_at, caller, push_id, device_id, user_id, state, reason
            FROM next WHERE NOT EXISTS (SELECT FROM push_outcome_log AS log WHERE log.entry_id = next.entry_id)
        )
        SELECT count(*) INTO stamped FROM next;
    END IF;
    SELECT log.seq, log.tag INTO head, tag FROM push_outcome_log AS log ORDER BY log.seq DESC LIMIT 1;
END
$$;

-- A target that is claimed, with the registration as of then. Columns that the push has, too, are left out: a device
-- keeps app, environment and kind. Registration columns are NULL if it is gone. Whether the token still belongs to the
-- user, its owner says (`push_token_owners`).
CREATE TYPE push_claim AS (
    device_id uuid, user_id uuid, lease_epoch bigint, attempts integer, reason text, is_takeover boolean,
    claimed_at timestamptz, token_hash bytea, token_epoch bigint, sealed_token bytea, environment text,
    refusal text, last_seen_at timestamptz, is_proven boolean, paused_until timestamptz, session_id uuid,
    live_until timestamptz, locale text, time_zone text);

-- Adds the targets of one recipient: the devices that are registered now. A device that is named, and is not there,
-- gets a target too, which says so. The first ones, `claims` at most, are claimed for `lease` seconds: the replica that
-- accepts the push sends them at once.
--
-- Returns the new targets. Of those that are not claimed only the ids.
CREATE FUNCTION add_push_targets(
    in_bucket smallint, recipient_kind text, recipient_id uuid, recipient_user uuid, of_push uuid, of_bundle_id text,
    of_kind text, of_activity text, of_attributes_type text, of_environment text, of_caller text, of_urgency text,
    first_due_at timestamptz, of_day date, claims integer, lease double precision
) RETURNS SETOF push_claim
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    found_devices refcursor;
    device devices;
    claim push_claim;
    claimed integer := 0;
    is_known boolean := false;
BEGIN
    IF recipient_kind = 'channel' THEN
        -- The sender reads the channel, which may be paused, with the push.
        INSERT INTO push_targets (bucket, push_id, device_id, user_id, caller, urgency, state, due_at, day)
            VALUES (in_bucket, of_push, recipient_id, recipient_user, of_caller, of_urgency, 'queued', first_due_at,
                    of_day)
            ON CONFLICT (bucket, push_id, device_id) DO NOTHING;
        IF FOUND THEN
            claim.device_id := recipient_id;
            claim.user_id := recipient_user;
            RETURN NEXT claim;
        END IF;
        RETURN;
    END IF;
    IF recipient_kind = 'user' THEN
        OPEN found_devices FOR SELECT * FROM devices WHERE bucket = in_bucket AND user_id = recipient_id;
    ELSIF recipient_kind = 'session' THEN
        OPEN found_devices FOR SELECT * FROM devices WHERE bucket = in_bucket AND session_id = recipient_id;
    ELSE
        OPEN found_devices FOR SELECT * FROM devices
            WHERE bucket = in_bucket AND id = recipient_id AND user_id = recipient_user;
    END IF;
    LOOP
        FETCH found_devices INTO device;
        EXIT WHEN NOT FOUND;
        CONTINUE WHEN device.bundle_id <> of_bundle_id OR device.kind <> of_kind OR device.environment <> of_environment
            OR of_activity IS NOT NULL AND device.activity IS DISTINCT FROM of_activity
            OR of_attributes_type IS NOT NULL AND device.attributes_type IS DISTINCT FROM of_attributes_type;
        is_known := true;
        claim := NULL;
        claim.device_id := device.id;
        claim.user_id := device.user_id;
        IF claimed < claims THEN
            claim.claimed_at := clock_timestamp();
            INSERT INTO push_targets
                (bucket, push_id, device_id, user_id, caller, urgency, state, due_at, lease_epoch, day)
                VALUES (in_bucket, of_push, device.id, device.user_id, of_caller, of_urgency, 'claimed',
                        claim.claimed_at + make_interval(secs => lease), 1, of_day)
                ON CONFLICT (bucket, push_id, device_id) DO NOTHING;
            CONTINUE WHEN NOT FOUND;
            claimed := claimed + 1;
            claim.lease_epoch := 1;
            claim.attempts := 0;
            claim.is_takeover := false;
            claim.token_hash := device.token_hash;
            claim.token_epoch := device.token_epoch;
            claim.sealed_token := device.sealed_token;
            claim.environment := device.environment;
            IF device.status <> 'active' THEN
                claim.refusal := coalesce(device.status_reason, 'Unregistered');
            END IF;
            claim.last_seen_at := device.last_seen_at;
            claim.is_proven := device.apns_accepted_at IS NOT NULL;
            claim.paused_until := device.apns_paused_until;
            claim.session_id := device.session_id;
            claim.live_until := device.live_until;
            claim.locale := device.locale;
            claim.time_zone := device.time_zone;
        ELSE
            INSERT INTO push_targets (bucket, push_id, device_id, user_id, caller, urgency, state, due_at, day)
                VALUES (in_bucket, of_push, device.id, device.user_id, of_caller, of_urgency, 'queued', first_due_at,
                        of_day)
                ON CONFLICT (bucket, push_id, device_id) DO NOTHING;
            CONTINUE WHEN NOT FOUND;
        END IF;
        RETURN NEXT claim;
    END LOOP;
    CLOSE found_devices;
    IF recipient_kind = 'device' AND NOT is_known THEN
        INSERT INTO push_targets (bucket, push_id, device_id, user_id, caller, urgency, state, reason, day)
            VALUES (in_bucket, of_push, recipient_id, recipient_user, of_caller, of_urgency, 'suppressed', 'noDevice',
                    of_day)
            ON CONFLICT (bucket, push_id, device_id) DO NOTHING;
        IF FOUND THEN
            INSERT INTO pending_push_outcomes (bucket, caller, push_id, device_id, user_id, state, reason)
                VALUES (in_bucket, of_caller, of_push, recipient_id, recipient_user, 'suppressed', 'noDevice');
            claim.device_id := recipient_id;
            claim.user_id := recipient_user;
            RETURN NEXT claim;
        END IF;
    END IF;
END
$$;

-- Claims a target that is due, for `lease` seconds. No row if it is not due any more, or another replica is claiming
-- it. One whose lease has ended may have been sent by the former holder.
CREATE FUNCTION claim_push_target(in_bucket smallint, of_push uuid, of_device uuid, lease double precision)
RETURNS SETOF push_claim
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    claim push_claim;
    former text;
BEGIN
    SELECT state INTO former FROM push_targets
        WHERE bucket = in_bucket AND push_id = of_push AND device_id = of_device AND due_at <= clock_timestamp()
        FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    UPDATE push_targets AS target SET
        state = 'claimed', due_at = clock_timestamp() + make_interval(secs => lease), updated_at = clock_timestamp(),
        lease_epoch = target.lease_epoch + 1,
        attempts = target.attempts + CASE WHEN former = 'claimed' THEN 1 ELSE 0 END
        WHERE target.bucket = in_bucket AND target.push_id = of_push AND target.device_id = of_device
        RETURNING target.user_id, target.lease_epoch, target.attempts, target.reason, target.updated_at
        INTO claim.user_id, claim.lease_epoch, claim.attempts, claim.reason, claim.claimed_at;
    SELECT device.token_hash, device.token_epoch, device.sealed_token, device.environment,
           CASE WHEN device.status <> 'active' THEN coalesce(device.status_reason, 'Unregistered') END,
           device.last_seen_at, device.apns_accepted_at IS NOT NULL, device.apns_paused_until, device.session_id,
           device.live_until, device.locale, device.time_zone
        INTO claim.token_hash, claim.token_epoch, claim.sealed_token, claim.environment, claim.refusal,
             claim.last_seen_at, claim.is_proven, claim.paused_until, claim.session_id, claim.live_until,
             claim.locale, claim.time_zone
        FROM devices AS device
        WHERE device.bucket = in_bucket AND device.id = of_device AND device.user_id = claim.user_id;
    claim.device_id := of_device;
    claim.is_takeover := former = 'claimed';
    RETURN NEXT claim;
END
$$;

-- Changes the registration with the token of `of_token_epoch`. `change` is `accepted`; `invalid`, unless it was seen
-- after `change_at`; `pause` until then; or empty.
CREATE FUNCTION change_registration(
    in_bucket smallint, of_device uuid, of_token_epoch bigint, change text, change_at timestamptz, reason text
) RETURNS void
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF change = 'accepted' THEN
        UPDATE devices SET apns_accepted_at = clock_timestamp()
            WHERE bucket = in_bucket AND id = of_device AND token_epoch = of_token_epoch AND apns_accepted_at IS NULL;
    ELSIF change = 'invalid' THEN
        UPDATE devices SET status = 'invalid', status_reason = reason
            WHERE bucket = in_bucket AND id = of_device AND token_epoch = of_token_epoch AND status = 'active'
              AND (change_at IS NULL OR last_seen_at <= change_at);
    ELSIF change = 'pause' THEN
        UPDATE devices SET apns_paused_until = greatest(apns_paused_until, change_at)
            WHERE bucket = in_bucket AND id = of_device AND token_epoch = of_token_epoch;
    END IF;
END
$$;

-- Records the outcome of a claim, if its lease is the latest, and changes the registration. False if another replica
-- has taken over.
CREATE FUNCTION record_push_outcome(
    in_bucket smallint, of_push uuid, of_device uuid, of_epoch bigint, new_state text, new_reason text,
    new_due_at timestamptz, tries integer, of_token_epoch bigint, change text, change_at timestamptz
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    of_user uuid;
    of_caller text;
BEGIN
    UPDATE push_targets SET
        state = new_state, reason = new_reason, due_at = new_due_at, attempts = attempts + tries,
        updated_at = clock_timestamp()
        WHERE bucket = in_bucket AND push_id = of_push AND device_id = of_device AND lease_epoch = of_epoch
          AND state = 'claimed'
        RETURNING user_id, caller INTO of_user, of_caller;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF new_due_at IS NULL AND new_state <> 'accepted' THEN
        INSERT INTO pending_push_outcomes (bucket, caller, push_id, device_id, user_id, state, reason)
            VALUES (in_bucket, of_caller, of_push, of_device, of_user, new_state, new_reason);
    END IF;
    PERFORM change_registration(in_bucket, of_device, of_token_epoch, change, change_at, new_reason);
    RETURN true;
END
$$;

-- Keeps when the session of a device ends unless it is used before.
CREATE FUNCTION keep_device_liveness(in_bucket smallint, of_device uuid, of_session uuid, until timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    UPDATE devices SET live_until = until
        WHERE bucket = in_bucket AND id = of_device AND session_id = of_session AND live_until IS DISTINCT FROM until;
END
$$;

-- Cancels the targets that no replica holds. Those in flight are cancelled if they would be sent again. Returns how
-- many there are of both.
CREATE FUNCTION cancel_push_targets(in_bucket smallint, of_push uuid) RETURNS integer
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    cancelled integer;
BEGIN
    WITH cancelled AS (
        UPDATE push_targets SET state = 'cancelled', reason = NULL, due_at = NULL, updated_at = clock_timestamp()
            WHERE bucket = in_bucket AND push_id = of_push AND state IN ('queued', 'retryAt')
            RETURNING caller, device_id, user_id
    )
    INSERT INTO pending_push_outcomes (bucket, caller, push_id, device_id, user_id, state)
        SELECT in_bucket, caller, of_push, device_id, user_id, 'cancelled' FROM cancelled;
    GET DIAGNOSTICS cancelled = ROW_COUNT;
    RETURN cancelled + (
        SELECT count(*) FROM push_targets WHERE bucket = in_bucket AND push_id = of_push AND state = 'claimed');
END
$$;

-- Queues the dead targets of a push again. Returns how many.
CREATE FUNCTION replay_push_targets(in_bucket smallint, of_push uuid, of_day date) RETURNS integer
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    replayed integer;
BEGIN
    UPDATE push_targets SET
        state = 'queued', reason = NULL, due_at = clock_timestamp(), attempts = 0, updated_at = clock_timestamp()
        WHERE bucket = in_bucket AND push_id = of_push AND state = 'dead';
    GET DIAGNOSTICS replayed = ROW_COUNT;
    UPDATE push_targets SET day = of_day WHERE bucket = in_bucket AND push_id = of_push AND day < of_day;
    RETURN replayed;
END
$$;

-- The number of targets in each state.
CREATE FUNCTION count_push_targets(in_bucket smallint, of_push uuid, OUT in_state text, OUT number bigint)
RETURNS SETOF record
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY SELECT state, count(*) FROM push_targets
        WHERE bucket = in_bucket AND push_id = of_push GROUP BY state;
END
$$;

-- The targets of a push after a device, in order.
CREATE TYPE push_target_row AS (
    bucket smallint, device_id uuid, user_id uuid, state text, reason text, updated_at timestamptz, attempts integer);
CREATE FUNCTION list_push_targets(in_bucket smallint, of_push uuid, after_device uuid, most bigint)
RETURNS SETOF push_target_row
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY SELECT t.bucket, t.device_id, t.user_id, t.state, t.reason, t.updated_at, t.attempts
        FROM push_targets AS t
        WHERE t.bucket = in_bucket AND t.push_id = of_push AND (after_device IS NULL OR t.device_id > after_device)
        ORDER BY t.device_id LIMIT most;
END
$$;

-- Removes a user's targets among the next `most` ones of a bucket after a position. Returns the next position; NULL at
-- the end. So an account's deletion needs no index of users, which each push would write.
CREATE FUNCTION erase_push_targets(
    in_bucket smallint, of_user uuid, after_push uuid, after_device uuid, most integer, OUT next_push uuid,
    OUT next_device uuid)
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    SELECT push_id, device_id INTO next_push, next_device FROM push_targets
        WHERE bucket = in_bucket AND (push_id, device_id) > (after_push, after_device)
        ORDER BY push_id, device_id OFFSET most - 1 LIMIT 1;
    IF FOUND THEN
        DELETE FROM push_targets
            WHERE bucket = in_bucket AND (push_id, device_id) > (after_push, after_device)
              AND (push_id, device_id) <= (next_push, next_device) AND user_id = of_user;
    ELSE
        DELETE FROM push_targets
            WHERE bucket = in_bucket AND (push_id, device_id) > (after_push, after_device) AND user_id = of_user;
    END IF;
END
$$;

-- The targets that are due, at most `most` of each caller and urgency, the longest due first. The callers are found one
-- by one in the index of their keys. Without JIT: its compilation takes longer than the rows, however many the planner
-- expects.
CREATE FUNCTION due_push_targets(urgencies text[], most bigint) RETURNS TABLE (
    of_caller text, of_urgency text, in_bucket smallint, of_push uuid, of_device uuid)
LANGUAGE plpgsql STABLE SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
        WITH RECURSIVE callers (name) AS (
            (SELECT caller FROM pushes ORDER BY caller LIMIT 1)
            UNION ALL
            SELECT (SELECT caller FROM pushes WHERE caller > callers.name ORDER BY caller LIMIT 1)
            FROM callers WHERE callers.name IS NOT NULL
        )
        SELECT callers.name, urgencies.name, due.bucket, due.push_id, due.device_id
        FROM callers, unnest(urgencies) AS urgencies (name), LATERAL (
            SELECT bucket, push_id, device_id FROM push_targets
            WHERE caller = callers.name AND urgency = urgencies.name AND due_at <= statement_timestamp()
            ORDER BY due_at LIMIT most
        ) AS due
        WHERE callers.name IS NOT NULL;
END
$$;

-- How many targets wait of each caller and in each state, and since when. No more than `most` of a caller and urgency
-- are counted, and bulk targets only when they are due: a segment may have millions that wait for the morning.
CREATE FUNCTION count_waiting_push_targets(urgencies text[], most bigint) RETURNS TABLE (
    of_caller text, in_state text, number bigint, oldest timestamptz)
LANGUAGE plpgsql STABLE SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
        WITH RECURSIVE callers (name) AS (
            (SELECT caller FROM pushes ORDER BY caller LIMIT 1)
            UNION ALL
            SELECT (SELECT caller FROM pushes WHERE caller > callers.name ORDER BY caller LIMIT 1)
            FROM callers WHERE callers.name IS NOT NULL
        )
        SELECT callers.name, waiting.state, count(*), min(waiting.due_at)
        FROM callers, unnest(urgencies) AS urgencies (name), LATERAL (
            SELECT state, due_at FROM push_targets
            WHERE caller = callers.name AND urgency = urgencies.name
              AND due_at <= CASE WHEN urgencies.name = 'bulk' THEN statement_timestamp() ELSE 'infinity' END
            ORDER BY due_at LIMIT most
        ) AS waiting
        WHERE callers.name IS NOT NULL GROUP BY 1, 2;
END
$$;

-- The pushes with a cap that a user has received in a day of UTC.
CREATE TABLE push_user_days (
    bucket   smallint NOT NULL CHECK (bucket BETWEEN 0 AND 4095),
    user_id  uuid     NOT NULL,
    day      date     NOT NULL,
    -- Not only their number: a push to several devices, or one that is repeated, counts once.
    pushes   uuid[]   NOT NULL,
    PRIMARY KEY (bucket, user_id, day)
) WITH (fillfactor = 80);

CREATE INDEX push_user_days_day ON push_user_days (bucket, day);

-- Counts a push that is about to be sent to a user. False if the user has received as many pushes today as `cap`.
CREATE FUNCTION count_push(in_bucket smallint, of_user uuid, of_push uuid, cap integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    -- Also of a day before: it may be repeated, and another device may be due later.
    IF EXISTS (
        SELECT FROM push_user_days WHERE bucket = in_bucket AND user_id = of_user AND of_push = ANY (pushes)
    ) THEN
        RETURN true;
    END IF;
    INSERT INTO push_user_days AS counted (bucket, user_id, day, pushes)
        VALUES (in_bucket, of_user, (clock_timestamp() AT TIME ZONE 'UTC')::date, ARRAY[of_push])
        ON CONFLICT (bucket, user_id, day) DO UPDATE SET pushes = counted.pushes || of_push
            WHERE cardinality(counted.pushes) < cap AND NOT of_push = ANY (counted.pushes);
    -- A concurrent claim of another device may have counted the push meanwhile.
    RETURN FOUND OR EXISTS (
        SELECT FROM push_user_days WHERE bucket = in_bucket AND user_id = of_user AND of_push = ANY (pushes));
END
$$;
