-- Large pushes get their targets in steps, pushes start by turns of callers and urgency, and the queue is counted from
-- indexes alone.
ALTER TABLE pushes
    -- Recipients, and bytes of the payloads and recipients, which count while the state is `scheduled`.
    ADD COLUMN recipient_count integer NOT NULL DEFAULT 1,
    ADD COLUMN bytes integer NOT NULL DEFAULT 0,
    -- The first recipients, whose targets are there. The state stays `scheduled` until those of all are.
    ADD COLUMN recipients_done integer NOT NULL DEFAULT 0,
    -- With a rate: when the first target of the next recipient is due.
    ADD COLUMN next_due_at timestamptz,
    -- Named devices without a registration. The first ones have a target that says so.
    ADD COLUMN unknown_devices integer NOT NULL DEFAULT 0;

-- To start pushes, and to count those that wait for it.
CREATE INDEX pushes_waiting ON pushes (caller, urgency, send_at, id) INCLUDE (recipient_count, bytes)
    WHERE state = 'scheduled';
DROP INDEX pushes_scheduled, pushes_scheduled_caller;
CREATE INDEX pushes_waiting_segments ON pushes (caller) WHERE state = 'scheduled' AND slice_count IS NOT NULL;

-- With the state, so that a survey reads the index alone. On a large table make these three by hand first: with CREATE
-- INDEX CONCURRENTLY, or without CONCURRENTLY on a partitioned table.
CREATE INDEX IF NOT EXISTS push_targets_waiting ON push_targets (caller, urgency, due_at) INCLUDE (state)
    WHERE due_at IS NOT NULL;
DROP INDEX push_targets_due;
-- What a user did not receive. Devices that a caller invents stand in an index of their own, so that they do not come
-- before failures of the user's devices.
CREATE INDEX IF NOT EXISTS push_targets_failed ON push_targets (bucket, user_id, updated_at)
    WHERE due_at IS NULL AND state <> 'accepted' AND reason IS DISTINCT FROM 'noDevice';
CREATE INDEX IF NOT EXISTS push_targets_unknown ON push_targets (bucket, user_id, updated_at)
    WHERE due_at IS NULL AND reason = 'noDevice';
DROP INDEX push_targets_undelivered;

-- The devices of one recipient that are registered now, as in `add_push_targets`. One that is named, and is not there,
-- is returned as not registered.
CREATE FUNCTION find_push_devices(
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

-- Adds the targets of the next recipients of a push whose state is `scheduled`, and moves its cursor past them. With the
-- last one the push is `sending`. It takes as many recipients as can have `most` devices, each user and session up to
-- `most_of_user`, and at least one. Of named devices without a registration `most_unknown` get a target. `pace` is the
-- time between two recipients' due times, in seconds, for a push without a rate. (`add_spaced_push_targets` is for
-- replicas of the version before.)
--
-- `is_found` is false if another replica adds them, or the push was cancelled or has all. `added` counts the devices,
-- also those without a target.
CREATE FUNCTION add_push_recipients(
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

-- The pushes whose time has come, at most `most` of each caller and urgency, the longest due first, without some. The
-- callers are found one by one in the index.
CREATE FUNCTION due_pushes(urgencies text[], besides uuid[], most bigint) RETURNS TABLE (
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

-- The callers that have pushes, found one by one in the index of their keys.
CREATE FUNCTION push_callers() RETURNS SETOF text
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

-- How many targets of a caller and urgency wait in each state, and since when. No more than `most` are counted, and bulk
-- targets only when they are due: a segment may have millions that wait for the morning. The rows come from the index
-- in its order, so a sort by state would only spill to disk. (The function of all callers is for replicas of the
-- version before.)
CREATE FUNCTION count_waiting_push_targets(of_caller text, of_urgency text, most bigint) RETURNS TABLE (
    in_state text, number bigint, oldest timestamptz)
LANGUAGE plpgsql STABLE SET jit = off SET enable_sort = off AS $$
BEGIN
    RETURN QUERY
        SELECT waiting.state, count(*), min(waiting.due_at) FROM (
            SELECT state, due_at FROM push_targets
            WHERE caller = of_caller AND urgency = of_urgency
              AND due_at <= CASE WHEN of_urgency = 'bulk' THEN statement_timestamp() ELSE 'infinity' END
            ORDER BY due_at LIMIT most
        ) AS waiting
        GROUP BY waiting.state;
END
$$;
