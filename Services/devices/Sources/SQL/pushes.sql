-- Version 1. Raise it with every change of this file.
-- Pushes that wait for their time, and the targets of their recipients. Each function that has a bucket touches that
-- bucket alone.

-- The callers that have pushes, found one by one in the index of their keys.
CREATE OR REPLACE FUNCTION push_callers() RETURNS SETOF text
LANGUAGE plpgsql STABLE SET jit = off AS $$
BEGIN
    RETURN QUERY
        WITH RECURSIVE callers (name) AS (
            (SELECT caller FROM pushes ORDER BY caller LIMIT 1)
            UNION ALL
            SELECT (SELECT caller FROM pushes WHERE caller > callers.name ORDER BY caller LIMIT 1)
            FROM callers WHERE callers.name IS NOT NULL
        )
        SELECT callers.name FROM callers WHERE callers.name IS NOT NULL;
END
$$;

-- The pushes that are due, except those of `besides`: at most `most` of each caller and urgency, the longest due first.
-- The callers are found one by one in the index.
CREATE OR REPLACE FUNCTION due_pushes(urgencies text[], besides uuid[], most bigint) RETURNS TABLE (
    of_caller text, of_urgency text, of_push uuid, is_segment boolean)
LANGUAGE plpgsql STABLE SET jit = off AS $$
BEGIN
    RETURN QUERY
        WITH RECURSIVE callers (name) AS (
            (SELECT caller FROM pushes WHERE state = 'scheduled' ORDER BY caller LIMIT 1)
            UNION ALL
            SELECT (
                SELECT caller FROM pushes WHERE state = 'scheduled' AND caller > callers.name ORDER BY caller LIMIT 1)
            FROM callers WHERE callers.name IS NOT NULL
        )
        SELECT callers.name, urgencies.name, due.id, due.slice_count IS NOT NULL
        FROM callers, unnest(urgencies) AS urgencies (name), LATERAL (
            SELECT id, slice_count FROM pushes
            WHERE state = 'scheduled' AND caller = callers.name AND urgency = urgencies.name
              AND send_at <= statement_timestamp() AND id <> ALL (besides)
            ORDER BY send_at, id LIMIT most
        ) AS due
        WHERE callers.name IS NOT NULL;
END
$$;

-- The devices of one recipient that are registered now, as in `add_push_targets`. A named device without a registration
-- is returned as not registered.
CREATE OR REPLACE FUNCTION find_push_devices(
    in_bucket smallint, recipient_kind text, recipient_id uuid, recipient_user uuid, of_bundle_id text, of_kind text,
    of_activity text, of_attributes_type text, of_environment text
) RETURNS TABLE (device_id uuid, is_registered boolean)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_devices refcursor;
    device devices;
    is_known boolean := false;
BEGIN
    IF recipient_kind = 'user' THEN
        OPEN found_devices FOR SELECT * FROM devices WHERE bucket = in_bucket AND user_id = recipient_id;
    ELSIF recipient_kind = 'session' THEN
        OPEN found_devices FOR SELECT * FROM devices WHERE bucket = in_bucket AND session_id = recipient_id;
    ELSIF recipient_kind = 'device' THEN
        OPEN found_devices FOR SELECT * FROM devices
            WHERE bucket = in_bucket AND id = recipient_id AND user_id = recipient_user;
    ELSE
        RETURN QUERY SELECT recipient_id, true;
        RETURN;
    END IF;
    LOOP
        FETCH found_devices INTO device;
        EXIT WHEN NOT FOUND;
        CONTINUE WHEN device.bundle_id <> of_bundle_id OR device.kind <> of_kind OR device.environment <> of_environment
            OR of_activity IS NOT NULL AND device.activity IS DISTINCT FROM of_activity
            OR of_attributes_type IS NOT NULL AND device.attributes_type IS DISTINCT FROM of_attributes_type;
        is_known := true;
        RETURN QUERY SELECT device.id, true;
    END LOOP;
    CLOSE found_devices;
    IF recipient_kind = 'device' AND NOT is_known THEN
        RETURN QUERY SELECT recipient_id, false;
    END IF;
END
$$;

-- Adds the targets of one recipient: the devices that are registered now. A named device without a registration gets
-- a target too, with the reason `noDevice`. The first ones, `claims` at most, are claimed for `lease` seconds: the
-- replica that accepts the push sends them at once.
--
-- Returns the new targets. Of those that are not claimed only the ids.
CREATE OR REPLACE FUNCTION add_push_targets(
    in_bucket smallint, recipient_kind text, recipient_id uuid, recipient_user uuid, of_push uuid, of_bundle_id text,
    of_kind text, of_activity text, of_attributes_type text, of_environment text, of_caller text, of_urgency text,
    first_due_at timestamptz, of_day date, claims integer, lease double precision
) RETURNS SETOF push_claim
LANGUAGE plpgsql VOLATILE AS $$
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

-- Moves the targets of a push in a bucket that are all due at one time `step` seconds apart.
CREATE OR REPLACE FUNCTION space_push_targets(
    in_bucket smallint, of_push uuid, first_due_at timestamptz, step double precision)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE push_targets SET due_at = first_due_at + make_interval(secs => step * (spaced.place - 1))
        FROM (
            SELECT device_id, row_number() OVER (ORDER BY device_id) AS place FROM push_targets
            WHERE bucket = in_bucket AND push_id = of_push AND due_at = first_due_at
        ) AS spaced
        WHERE push_targets.bucket = in_bucket AND push_targets.push_id = of_push
          AND push_targets.device_id = spaced.device_id AND spaced.place > 1;
END
$$;

-- Adds the targets of the next recipients of a push whose state is `scheduled`, and moves its cursor past them. With
-- the last one the push is `sending`. It takes as many recipients as can have `most` devices, each user and session
-- up to `most_of_user`, and at least one. Of named devices without a registration `most_unknown` get a target. `pace`
-- is the time between two recipients' due times, in seconds, for a push without a rate.
--
-- `is_found` is false if another replica adds them, or the push was cancelled or has all. `added` counts the devices,
-- those without a target included.
CREATE OR REPLACE FUNCTION add_push_recipients(
    of_push uuid, most integer, most_of_user integer, most_unknown integer, pace double precision,
    OUT is_found boolean, OUT added integer, OUT is_done boolean
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    push pushes;
    recipient record;
    due timestamptz;
    spacing double precision;
    possible integer := 0;
    done integer;
    unknown integer;
    number integer;
BEGIN
    added := 0;
    is_done := false;
    SELECT * INTO push FROM pushes WHERE id = of_push AND state = 'scheduled' AND slice_count IS NULL
        FOR UPDATE SKIP LOCKED;
    is_found := FOUND;
    IF NOT is_found THEN
        RETURN;
    END IF;
    done := push.recipients_done;
    unknown := push.unknown_devices;
    due := greatest(push.next_due_at, statement_timestamp());
    spacing := 60.0 / push.rate_per_minute;
    FOR recipient IN
        SELECT named.bucket, named.kind, named.id, named.user_id
        FROM unnest(push.recipient_buckets, push.recipient_kinds, push.recipient_ids, push.recipient_users)
            WITH ORDINALITY AS named (bucket, kind, id, user_id, place)
        WHERE named.place > done ORDER BY named.place
    LOOP
        possible := possible + CASE WHEN recipient.kind IN ('user', 'session') THEN most_of_user ELSE 1 END;
        EXIT WHEN possible > most AND done > push.recipients_done;
        done := done + 1;
        IF recipient.kind = 'device' AND NOT EXISTS (
            SELECT FROM find_push_devices(
                recipient.bucket, recipient.kind, recipient.id, recipient.user_id, push.bundle_id, push.kind,
                push.activity, push.attributes_type, push.environment) AS found
            WHERE found.is_registered)
        THEN
            unknown := unknown + 1;
            IF unknown > most_unknown THEN
                added := added + 1;
                CONTINUE;
            END IF;
        END IF;
        SELECT count(*) INTO number FROM add_push_targets(
            recipient.bucket, recipient.kind, recipient.id, recipient.user_id, of_push, push.bundle_id, push.kind,
            push.activity, push.attributes_type, push.environment, push.caller, push.urgency, due, push.day,
            0, 0);
        IF spacing IS NOT NULL AND number > 1 THEN
            PERFORM space_push_targets(recipient.bucket, of_push, due, spacing);
        END IF;
        added := added + number;
        due := due + make_interval(secs => coalesce(spacing * number, pace));
    END LOOP;
    is_done := done >= cardinality(push.recipient_ids);
    UPDATE pushes SET
        recipients_done = done, unknown_devices = unknown,
        next_due_at = CASE WHEN spacing IS NOT NULL THEN due END,
        state = CASE WHEN is_done THEN 'sending' ELSE 'scheduled' END
        WHERE id = of_push;
END
$$;

-- The buckets in which a push may have targets.
CREATE OR REPLACE FUNCTION push_buckets(of_push uuid) RETURNS SETOF smallint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT recipient.bucket FROM pushes, unnest(recipient_buckets) AS recipient (bucket)
        WHERE id = of_push
        UNION ALL
        SELECT bucket::smallint
        FROM push_slices, generate_series(first_bucket::integer, last_bucket::integer) AS bucket
        WHERE push_id = of_push AND targets > 0;
END
$$;
