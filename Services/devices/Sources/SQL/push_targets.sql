-- Version 1. Raise it with every change of this file.
-- The targets of pushes: claims, outcomes, and what callers and operators read and change.

-- The targets that are due, at most `most` of each caller and urgency, the longest due first. The callers are found one
-- by one in the index of their keys. JIT would take longer to compile the statement than the rows take.
CREATE OR REPLACE FUNCTION due_push_targets(urgencies text[], most bigint) RETURNS TABLE (
    of_caller text, of_urgency text, in_bucket smallint, of_push uuid, of_device uuid)
LANGUAGE plpgsql STABLE SET jit = off AS $$
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

-- The number of targets of a caller and urgency that wait in each state, and since when. No more than `most` are
-- counted, and bulk targets only when they are due: a segment may have millions that wait for the morning. The rows
-- come from the index in its order, so a sort by state would only spill to disk.
CREATE OR REPLACE FUNCTION count_waiting_push_targets(of_caller text, of_urgency text, most bigint) RETURNS TABLE (
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

-- Claims a target that is due, for `lease` seconds. No row if it is not due any more, or another replica is claiming
-- it. One whose lease has ended may have been sent by the former holder.
CREATE OR REPLACE FUNCTION claim_push_target_as(
    in_bucket smallint, of_push uuid, of_device uuid, lease double precision, of_claim uuid
) RETURNS SETOF push_claim
LANGUAGE plpgsql VOLATILE AS $$
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
        lease_epoch = target.lease_epoch + 1, claim_id = of_claim, is_takeover = former = 'claimed',
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

-- Releases a target of a claim as it was: due, and without an attempt. False if another claim holds it.
CREATE OR REPLACE FUNCTION release_push_target(in_bucket smallint, of_push uuid, of_device uuid, of_claim uuid)
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE push_targets SET
        -- The next holder takes over from the same former one.
        state = CASE WHEN is_takeover THEN 'claimed' ELSE 'queued' END,
        attempts = attempts - CASE WHEN is_takeover THEN 1 ELSE 0 END,
        due_at = clock_timestamp(), updated_at = clock_timestamp(), lease_epoch = lease_epoch + 1, claim_id = NULL
        WHERE bucket = in_bucket AND push_id = of_push AND device_id = of_device AND state = 'claimed'
          AND claim_id = of_claim;
    RETURN FOUND;
END
$$;

-- The same for the targets of a push in a bucket that were claimed with it. Returns their number.
CREATE OR REPLACE FUNCTION release_accepted_push_targets(in_bucket smallint, of_push uuid) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    released integer;
BEGIN
    UPDATE push_targets SET
        state = 'queued', due_at = clock_timestamp(), updated_at = clock_timestamp(), lease_epoch = lease_epoch + 1
        WHERE bucket = in_bucket AND push_id = of_push AND state = 'claimed' AND claim_id IS NULL AND lease_epoch = 1;
    GET DIAGNOSTICS released = ROW_COUNT;
    RETURN released;
END
$$;

-- Records the outcome of a claim, if its lease is the latest, and changes the registration. False if another replica
-- has taken over.
CREATE OR REPLACE FUNCTION record_push_outcome(
    in_bucket smallint, of_push uuid, of_device uuid, of_epoch bigint, new_state text, new_reason text,
    new_due_at timestamptz, tries integer, of_token_epoch bigint, change text, change_at timestamptz
) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
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

-- Cancels the targets that no replica has claimed. Those in flight are cancelled if they would be sent again. Returns
-- the number of both.
CREATE OR REPLACE FUNCTION cancel_push_targets(in_bucket smallint, of_push uuid) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
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

-- Queues the dead targets of a push again. Returns their number.
CREATE OR REPLACE FUNCTION replay_push_targets(in_bucket smallint, of_push uuid, of_day date) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
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
CREATE OR REPLACE FUNCTION count_push_targets(in_bucket smallint, of_push uuid, OUT in_state text, OUT number bigint)
RETURNS SETOF record
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT state, count(*) FROM push_targets
        WHERE bucket = in_bucket AND push_id = of_push GROUP BY state;
END
$$;

-- The targets of a push after a device, in order.
CREATE OR REPLACE FUNCTION list_push_targets(in_bucket smallint, of_push uuid, after_device uuid, most bigint)
RETURNS SETOF push_target_row
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT t.bucket, t.device_id, t.user_id, t.state, t.reason, t.updated_at, t.attempts
        FROM push_targets AS t
        WHERE t.bucket = in_bucket AND t.push_id = of_push AND (after_device IS NULL OR t.device_id > after_device)
        ORDER BY t.device_id LIMIT most;
END
$$;

-- Removes a user's targets among the next `most` ones of a bucket after a position. Returns the next position; NULL at
-- the end. So an account's deletion needs no index of users, which each push would write.
CREATE OR REPLACE FUNCTION erase_push_targets(
    in_bucket smallint, of_user uuid, after_push uuid, after_device uuid, most integer, OUT next_push uuid,
    OUT next_device uuid)
LANGUAGE plpgsql VOLATILE AS $$
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
