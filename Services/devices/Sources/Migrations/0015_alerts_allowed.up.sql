-- Whether the user lets the app show notifications, as the app says when it registers. Replicas of the version before
-- call the functions without it, which means that the app says nothing.
ALTER TABLE devices ADD COLUMN alerts_allowed boolean;
ALTER TYPE push_segment ADD ATTRIBUTE alerts_allowed boolean;

-- The registration, if a new one would change nothing, and its token is sealed under the key of this prefix.
DROP FUNCTION find_unchanged_device(
    smallint, uuid, uuid, bytea, text, text, text, text, text, text, text, text, bytea);
CREATE FUNCTION find_unchanged_device(
    in_bucket smallint, of_user uuid, of_session uuid, of_hash bytea, of_activity text, of_attributes_type text,
    of_installation_id text, of_locale text, of_time_zone text, of_app_version text, of_os_version text,
    of_model text, sealed_prefix bytea, of_alerts_allowed boolean DEFAULT NULL
) RETURNS TABLE (device_id uuid, registered_at timestamptz, epoch bigint)
LANGUAGE sql STABLE AS $$
    SELECT id, created_at, token_epoch FROM devices
    WHERE bucket = in_bucket AND user_id = of_user AND token_hash = of_hash AND session_id = of_session
      AND status = 'active'
      AND activity IS NOT DISTINCT FROM of_activity AND attributes_type IS NOT DISTINCT FROM of_attributes_type
      AND installation_id IS NOT DISTINCT FROM of_installation_id
      AND locale IS NOT DISTINCT FROM of_locale AND time_zone IS NOT DISTINCT FROM of_time_zone
      AND app_version IS NOT DISTINCT FROM of_app_version
      AND os_version IS NOT DISTINCT FROM of_os_version AND model IS NOT DISTINCT FROM of_model
      AND alerts_allowed IS NOT DISTINCT FROM of_alerts_allowed
      AND substr(sealed_token, 1, length(sealed_prefix)) = sealed_prefix
      -- Others are written at once: a process that dies must not leave them unseen.
      AND last_seen_at > statement_timestamp() - interval '1 day'
$$;

-- The third step of a registration: see 0014.
DROP FUNCTION register_device(
    smallint, uuid, uuid, bytea, bigint, bytea, text, text, text, text, text, text, text, text, text, text, text,
    integer);
CREATE FUNCTION register_device(
    in_bucket smallint, new_user uuid, new_session uuid, new_hash bytea, new_epoch bigint, new_sealed_token bytea,
    new_environment text, new_bundle_id text, new_kind text, new_activity text, new_attributes_type text,
    new_installation_id text, new_locale text, new_time_zone text, new_app_version text, new_os_version text,
    new_model text, maximum integer, new_alerts_allowed boolean DEFAULT NULL, OUT device_id uuid,
    OUT registered_at timestamptz, OUT seen_at timestamptz, OUT displaced_hashes bytea[], OUT displaced_epochs bigint[]
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    gone record;
BEGIN
    IF NOT session_is_live(in_bucket, new_session) THEN
        RETURN;
    END IF;

    -- Nothing has changed, and the token is sealed under the present key: the device was seen again.
    UPDATE devices SET last_seen_at = now()
        WHERE bucket = in_bucket AND user_id = new_user AND token_hash = new_hash AND token_epoch = new_epoch
          AND session_id = new_session AND status = 'active'
          AND activity IS NOT DISTINCT FROM new_activity AND attributes_type IS NOT DISTINCT FROM new_attributes_type
          AND installation_id IS NOT DISTINCT FROM new_installation_id
          AND locale IS NOT DISTINCT FROM new_locale AND time_zone IS NOT DISTINCT FROM new_time_zone
          AND app_version IS NOT DISTINCT FROM new_app_version
          AND os_version IS NOT DISTINCT FROM new_os_version AND model IS NOT DISTINCT FROM new_model
          AND alerts_allowed IS NOT DISTINCT FROM new_alerts_allowed
          AND substr(sealed_token, 1, get_byte(sealed_token, 0) + 1)
              = substr(new_sealed_token, 1, get_byte(new_sealed_token, 0) + 1)
        RETURNING id, created_at, last_seen_at INTO device_id, registered_at, seen_at;
    IF FOUND THEN
        RETURN;
    END IF;

    -- The same installation, and the same activity or type, under an earlier token. A new row takes over its id.
    DELETE FROM devices
        WHERE bucket = in_bucket AND user_id = new_user AND installation_id = new_installation_id
          AND environment = new_environment AND bundle_id = new_bundle_id AND kind = new_kind AND token_hash <> new_hash
          AND CASE kind WHEN 'liveactivity' THEN activity = new_activity
                        WHEN 'pushtostart' THEN attributes_type = new_attributes_type ELSE true END
        RETURNING id, created_at, ARRAY[token_hash], ARRAY[token_epoch]
        INTO device_id, registered_at, displaced_hashes, displaced_epochs;

    -- The user's devices of this kind beyond the maximum: those that were seen longest ago.
    FOR gone IN DELETE FROM devices
        WHERE bucket = in_bucket AND id IN (
            SELECT id FROM devices
            WHERE bucket = in_bucket AND user_id = new_user AND kind = new_kind AND token_hash <> new_hash
            ORDER BY last_seen_at DESC, id OFFSET maximum - 1)
        RETURNING token_hash, token_epoch
    LOOP
        displaced_hashes := displaced_hashes || gone.token_hash;
        displaced_epochs := displaced_epochs || gone.token_epoch;
    END LOOP;

    INSERT INTO devices AS kept
        (bucket, id, user_id, session_id, token_hash, token_epoch, sealed_token, environment, bundle_id, kind,
         activity, attributes_type, installation_id, locale, time_zone, app_version, os_version, model, alerts_allowed,
         created_at)
        VALUES (in_bucket, coalesce(device_id, gen_random_uuid()), new_user, new_session, new_hash, new_epoch,
                new_sealed_token, new_environment, new_bundle_id, new_kind, new_activity, new_attributes_type,
                new_installation_id, new_locale, new_time_zone, new_app_version, new_os_version, new_model,
                new_alerts_allowed, coalesce(registered_at, now()))
        ON CONFLICT (bucket, user_id, token_hash) DO UPDATE SET
            session_id = excluded.session_id,
            live_until = CASE WHEN kept.session_id = excluded.session_id THEN kept.live_until END,
            -- A registration that was overtaken by a later one of the same user does not make it void.
            token_epoch = greatest(kept.token_epoch, excluded.token_epoch), sealed_token = excluded.sealed_token,
            activity = excluded.activity, attributes_type = excluded.attributes_type,
            installation_id = excluded.installation_id, status = 'active', status_reason = NULL,
            locale = excluded.locale, time_zone = excluded.time_zone, app_version = excluded.app_version,
            os_version = excluded.os_version, model = excluded.model, alerts_allowed = excluded.alerts_allowed,
            last_seen_at = now()
        RETURNING id, created_at, last_seen_at INTO device_id, registered_at, seen_at;
END
$$;

-- The devices of a segment in a bucket after one, in order: see 0007.
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
