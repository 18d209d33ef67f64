-- A replica that lost PostgreSQL's answer to its claim has opened no stream, so it finds the claim and gives it back.
-- The statement that claims writes these columns. Slices are altered first, as pages of them lock the tables.
ALTER TABLE push_slices ADD COLUMN claim_id uuid;
ALTER TABLE push_targets
    -- Differs for each statement that claims from the queue. NULL of a target that was claimed with its push.
    ADD COLUMN claim_id uuid,
    -- Another replica held the target before, and may have sent it.
    ADD COLUMN is_takeover boolean NOT NULL DEFAULT false;

-- The apps of `pushes`, one for each push. Of pushes that were counted before, none.
ALTER TABLE push_user_days ADD COLUMN apps text[] NOT NULL DEFAULT '{}';

-- Claims a target that is due, for `lease` seconds. No row if it is not due any more, or another replica is claiming
-- it. One whose lease has ended may have been sent by the former holder.
CREATE FUNCTION claim_push_target_as(
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

-- For replicas of the version before. An id that no replica knows tells their claims from those of an acceptance.
CREATE OR REPLACE FUNCTION claim_push_target(
    in_bucket smallint, of_push uuid, of_device uuid, lease double precision
) RETURNS SETOF push_claim
LANGUAGE sql VOLATILE AS $$
    SELECT * FROM claim_push_target_as(in_bucket, of_push, of_device, lease, gen_random_uuid())
$$;

-- Gives a target of a claim back as it was: due, and without an attempt. Whether it was this claim's.
CREATE FUNCTION release_push_target(in_bucket smallint, of_push uuid, of_device uuid, of_claim uuid) RETURNS boolean
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

-- The same for the targets of a push in a bucket that were claimed with it. Returns how many.
CREATE FUNCTION release_accepted_push_targets(in_bucket smallint, of_push uuid) RETURNS integer
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

-- Counts a push of an app that is about to be sent to a user. False if the user has received as many pushes of the app
-- today as `app_cap`, or as many of all apps as `user_cap`; NULL without such a cap. Pushes without a cap do not count.
CREATE FUNCTION count_app_push(
    in_bucket smallint, of_user uuid, of_push uuid, of_app text, app_cap integer, user_cap integer
) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    -- Also of a day before: it may be repeated, and another device may be due later.
    IF EXISTS (
        SELECT FROM push_user_days WHERE bucket = in_bucket AND user_id = of_user AND of_push = ANY (pushes)
    ) THEN
        RETURN true;
    END IF;
    INSERT INTO push_user_days AS counted (bucket, user_id, day, pushes, apps)
        VALUES (in_bucket, of_user, (clock_timestamp() AT TIME ZONE 'UTC')::date, ARRAY[of_push], ARRAY[of_app])
        ON CONFLICT (bucket, user_id, day) DO UPDATE SET
            pushes = counted.pushes || of_push, apps = counted.apps || of_app
            WHERE cardinality(array_positions(counted.apps, of_app)) < app_cap
              AND (user_cap IS NULL OR cardinality(counted.pushes) < user_cap)
              AND NOT of_push = ANY (counted.pushes);
    -- A concurrent claim of another device may have counted the push meanwhile.
    RETURN FOUND OR EXISTS (
        SELECT FROM push_user_days WHERE bucket = in_bucket AND user_id = of_user AND of_push = ANY (pushes));
END
$$;

-- Ends a page of a slice, and begins the next one. Each call writes the slice's row once.
--
-- Without `of_epoch` it claims a slice that is due. With it, the holder of this page reports: `new_devices` of the page
-- are done, up to (`to_bucket`, `to_device`), or to its end if these are NULL. The next page has at most `most` devices
-- and a lease of `lease` seconds. If none begins, `page` is empty, and the slice is due after `wait` seconds. `is_held`
-- is false if another replica holds the slice. `of_claim` differs for each call.
--
-- A page that a dead replica held is read again, except if `on_doubt` is `drop` or nothing is sent any more: then its
-- devices count as in doubt. Reading ends early after a tenth of a second, so that a page is fresh.
CREATE FUNCTION advance_push_slice(
    of_push uuid, of_slice smallint, of_epoch bigint, to_bucket smallint, to_device uuid, new_devices integer,
    new_accepted integer, new_targets integer, wait double precision, lease double precision, most integer,
    unseen_days integer, of_claim uuid, OUT is_held boolean, OUT epoch bigint, OUT page push_claim[]
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    first_device CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
    started_at CONSTANT timestamptz := clock_timestamp();
    held push_slices;
    push record;
    open_at timestamptz;
    at_bucket smallint;
    at_device uuid;
    part push_claim[];
BEGIN
    is_held := false;
    IF of_epoch IS NULL THEN
        SELECT * INTO held FROM push_slices
            WHERE push_id = of_push AND slice = of_slice AND state = 'open' AND due_at <= started_at
            FOR UPDATE SKIP LOCKED;
    ELSE
        SELECT * INTO held FROM push_slices
            WHERE push_id = of_push AND slice = of_slice AND state = 'open' AND lease_epoch = of_epoch FOR UPDATE;
    END IF;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT state, on_doubt, segment, rate_per_minute, state = 'cancelled' OR expires_at <= started_at AS is_over
        INTO push FROM pushes WHERE id = of_push;
    IF push.is_over THEN
        most := 0;
    ELSIF push.rate_per_minute IS NOT NULL AND most > 0 THEN
        SELECT next_at INTO open_at FROM push_rates WHERE push_id = of_push FOR UPDATE;
        -- Five seconds' worth of the rate is read at once.
        most := CASE WHEN open_at > started_at THEN 0 ELSE least(most, greatest(1, push.rate_per_minute / 12)) END;
    END IF;

    held.lease_epoch := held.lease_epoch + 1;
    IF of_epoch IS NOT NULL THEN
        IF new_devices > 0 THEN
            held.cursor_bucket := coalesce(to_bucket, held.page_bucket);
            held.cursor_device := coalesce(to_device, held.page_device);
        END IF;
        held.devices := held.devices + new_devices;
        held.accepted := held.accepted + new_accepted;
        held.targets := held.targets + new_targets;
        held.due_at := started_at + make_interval(secs => wait);
    ELSIF most > 0 OR push.is_over THEN
        IF held.page_bucket IS NOT NULL AND (push.on_doubt = 'drop' OR push.is_over) THEN
            held.cursor_bucket := held.page_bucket;
            held.cursor_device := held.page_device;
            held.devices := held.devices + held.page_devices;
            held.in_doubt := held.in_doubt + held.page_devices;
        END IF;
    ELSE
        RETURN;
    END IF;

    page := '{}';
    at_bucket := held.cursor_bucket;
    at_device := held.cursor_device;
    WHILE at_bucket <= held.last_bucket AND cardinality(page) < most
        AND clock_timestamp() < started_at + interval '0.1 seconds'
    LOOP
        SELECT array_agg(claim ORDER BY claim.device_id) INTO part
            FROM segment_devices(
                at_bucket, push.segment, at_device, unseen_days, most - cardinality(page)) AS claim;
        page := page || part;
        IF cardinality(page) < most THEN
            at_bucket := at_bucket + 1;
            at_device := first_device;
        ELSE
            at_device := part[cardinality(part)].device_id;
        END IF;
    END LOOP;
    IF cardinality(page) > 0 THEN
        held.page_bucket := at_bucket;
        held.page_device := at_device;
        held.page_devices := cardinality(page);
        held.due_at := started_at + make_interval(secs => lease);
        UPDATE push_rates SET
            next_at = started_at + make_interval(secs => 60.0 * cardinality(page) / push.rate_per_minute)
            WHERE push_id = of_push AND push.rate_per_minute IS NOT NULL;
    ELSE
        held.cursor_bucket := at_bucket;
        held.cursor_device := at_device;
        held.page_bucket := NULL;
        held.page_device := NULL;
        held.page_devices := NULL;
        held.state := CASE
            WHEN at_bucket > held.last_bucket THEN 'done' WHEN push.state = 'cancelled' THEN 'cancelled'
            WHEN push.is_over THEN 'expired' ELSE 'open' END;
    END IF;
    UPDATE push_slices SET
        state = held.state, cursor_bucket = held.cursor_bucket, cursor_device = held.cursor_device,
        page_bucket = held.page_bucket, page_device = held.page_device, page_devices = held.page_devices,
        due_at = held.due_at, lease_epoch = held.lease_epoch, claim_id = of_claim, devices = held.devices,
        accepted = held.accepted, targets = held.targets, in_doubt = held.in_doubt
        WHERE push_id = of_push AND slice = of_slice;
    is_held := true;
    epoch := held.lease_epoch;
END
$$;

-- For replicas of the version before.
CREATE OR REPLACE FUNCTION move_push_slice(
    of_push uuid, of_slice smallint, of_epoch bigint, to_bucket smallint, to_device uuid, new_devices integer,
    new_accepted integer, new_targets integer, wait double precision, lease double precision, most integer,
    unseen_days integer, OUT is_held boolean, OUT epoch bigint, OUT page push_claim[]
) LANGUAGE sql VOLATILE AS $$
    SELECT * FROM advance_push_slice(
        of_push, of_slice, of_epoch, to_bucket, to_device, new_devices, new_accepted, new_targets, wait, lease, most,
        unseen_days, NULL)
$$;

-- Ends the page of a claim without sending it: the slice is due, and its devices are read again.
CREATE FUNCTION release_push_slice(of_push uuid, of_slice smallint, of_claim uuid) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE push_slices SET
        page_bucket = NULL, page_device = NULL, page_devices = NULL, due_at = clock_timestamp(),
        lease_epoch = lease_epoch + 1, claim_id = NULL
        WHERE push_id = of_push AND slice = of_slice AND state = 'open' AND claim_id = of_claim;
    RETURN FOUND;
END
$$;
