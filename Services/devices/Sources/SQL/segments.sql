-- Version 1. Raise it with every change of this file.
-- Pushes to segments.

-- The numbers at the beginning of a version, without zeros at the end, so that arrays compare as versions do. NULL for
-- a text that begins with no number.
CREATE OR REPLACE FUNCTION version_numbers(of_version text) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
    SELECT string_to_array(
        regexp_replace(
            substring(of_version FROM '^([0-9]{1,18}(?:\.[0-9]{1,18})*)(?![0-9])'), '(\.0+)+$', ''), '.')::bigint[]
$$;

-- Rows of `devices`, void ones included: the number that a count of a segment has to read.
CREATE OR REPLACE FUNCTION count_devices(in_bucket smallint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT count(*) FROM devices WHERE bucket = in_bucket);
END
$$;

-- The devices of a segment in a bucket after one, in order. Their tokens' owners are read after them. The primary key
-- of `devices` has this order: another index would cost each registration, and help only where few registrations are
-- for the app. The planner cannot know the selectivity of the conditions, so without these settings each page would
-- sort the rest of the bucket.
CREATE OR REPLACE FUNCTION segment_devices(
    in_bucket smallint, of_segment push_segment, after_device uuid, unseen_days integer, most integer
) RETURNS SETOF push_claim
LANGUAGE plpgsql STABLE SET enable_sort = off SET enable_bitmapscan = off AS $$
BEGIN
    RETURN QUERY
        SELECT device.id, device.user_id, 0::bigint, 0, NULL::text, false, clock_timestamp(), device.token_hash,
               device.token_epoch, device.sealed_token, device.environment, NULL::text, device.last_seen_at,
               device.apns_accepted_at IS NOT NULL, device.apns_paused_until, device.session_id, device.live_until,
               device.locale, device.time_zone
        FROM devices AS device
        WHERE device.bucket = in_bucket AND device.id > after_device AND device.status = 'active'
          AND device.bundle_id = of_segment.bundle_id AND device.kind = of_segment.kind
          AND device.last_seen_at > statement_timestamp() - make_interval(days => unseen_days)
          AND (of_segment.environment IS NULL OR device.environment = of_segment.environment)
          AND (of_segment.activity IS NULL OR device.activity = of_segment.activity)
          AND (of_segment.attributes_type IS NULL OR device.attributes_type = of_segment.attributes_type)
          AND (of_segment.locales IS NULL OR lower(device.locale) ~ of_segment.locales)
          AND (of_segment.time_zones IS NULL OR device.time_zone = ANY (of_segment.time_zones))
          AND (of_segment.from_version IS NULL OR version_numbers(device.app_version) >= of_segment.from_version)
          AND (of_segment.below_version IS NULL OR version_numbers(device.app_version) < of_segment.below_version)
          AND (of_segment.seen_since IS NULL OR device.last_seen_at >= of_segment.seen_since)
          AND (of_segment.alerts_allowed IS NULL OR device.alerts_allowed = of_segment.alerts_allowed)
          AND (of_segment.all_tags IS NULL OR cardinality(of_segment.all_tags) = (
              SELECT count(*) FROM user_tags
              WHERE bucket = in_bucket AND user_id = device.user_id AND tag = ANY (of_segment.all_tags)))
          AND (of_segment.any_tags IS NULL OR EXISTS (
              SELECT FROM user_tags
              WHERE bucket = in_bucket AND user_id = device.user_id AND tag = ANY (of_segment.any_tags)))
        ORDER BY device.id LIMIT most;
END
$$;

-- The number of devices of a segment in a bucket.
CREATE OR REPLACE FUNCTION count_segment(in_bucket smallint, of_segment push_segment, unseen_days integer)
RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT count(*) FROM segment_devices(
            in_bucket, of_segment, '00000000-0000-0000-0000-000000000000', unseen_days, NULL));
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
CREATE OR REPLACE FUNCTION advance_push_slice(
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

-- Ends the page of a claim without sending it: the slice is due, and its devices are read again.
CREATE OR REPLACE FUNCTION release_push_slice(of_push uuid, of_slice smallint, of_claim uuid)
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE push_slices SET
        page_bucket = NULL, page_device = NULL, page_devices = NULL, due_at = clock_timestamp(),
        lease_epoch = lease_epoch + 1, claim_id = NULL
        WHERE push_id = of_push AND slice = of_slice AND state = 'open' AND claim_id = of_claim;
    RETURN FOUND;
END
$$;

-- Keeps the outcome of a device of a segment, if the device did not accept the push at once, and changes the
-- registration (see `record_push_outcome`). True.
CREATE OR REPLACE FUNCTION add_push_outcome(
    in_bucket smallint, of_push uuid, of_device uuid, of_user uuid, of_caller text, of_urgency text, of_day date,
    new_state text, new_reason text, new_due_at timestamptz, tries integer, of_token_epoch bigint, change text,
    change_at timestamptz
) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF new_state <> 'accepted' THEN
        INSERT INTO push_targets
            (bucket, push_id, device_id, user_id, caller, urgency, state, reason, due_at, attempts, day)
            VALUES (in_bucket, of_push, of_device, of_user, of_caller, of_urgency, new_state, new_reason, new_due_at,
                    tries, of_day)
            ON CONFLICT (bucket, push_id, device_id) DO NOTHING;
    END IF;
    IF new_due_at IS NULL AND new_state <> 'accepted' THEN
        INSERT INTO pending_push_outcomes (bucket, caller, push_id, device_id, user_id, state, reason)
            VALUES (in_bucket, of_caller, of_push, of_device, of_user, new_state, new_reason);
    END IF;
    PERFORM change_registration(in_bucket, of_device, of_token_epoch, change, change_at, new_reason);
    RETURN true;
END
$$;
