-- Live Activities: the activity that a token updates, and the type of activities that a token starts.
--
-- `live_until` is when the session ends unless it is used before, as tokens has answered; NULL before it was asked.
ALTER TABLE devices ADD COLUMN activity text, ADD COLUMN attributes_type text, ADD COLUMN live_until timestamptz,
    DROP CONSTRAINT devices_kind_check,
    ADD CONSTRAINT devices_kind_check CHECK (kind IN ('alert', 'voip', 'liveactivity', 'pushtostart'));

-- Of an installation: one token of a kind, one for each activity, one for each type of activities.
DROP INDEX devices_installation;
CREATE UNIQUE INDEX devices_installation ON devices (bucket, user_id, installation_id, environment, bundle_id, kind)
    WHERE installation_id IS NOT NULL AND kind NOT IN ('liveactivity', 'pushtostart');
CREATE UNIQUE INDEX devices_activity ON devices (bucket, user_id, installation_id, environment, bundle_id, activity)
    WHERE installation_id IS NOT NULL AND kind = 'liveactivity';
CREATE UNIQUE INDEX devices_start ON devices (bucket, user_id, installation_id, environment, bundle_id, attributes_type)
    WHERE installation_id IS NOT NULL AND kind = 'pushtostart';

CREATE OR REPLACE VIEW owned_devices AS
    SELECT devices.bucket, devices.id, devices.user_id, devices.session_id, devices.token_hash, devices.token_epoch,
           devices.sealed_token, devices.environment, devices.bundle_id, devices.kind, devices.installation_id,
           devices.status, devices.status_reason, devices.locale, devices.time_zone, devices.app_version,
           devices.os_version, devices.model, devices.created_at, devices.last_seen_at, devices.activity,
           devices.attributes_type
    FROM devices
    JOIN push_token_owners AS owners ON owners.token_hash = devices.token_hash
        AND owners.user_id = devices.user_id AND owners.epoch = devices.token_epoch;

DROP FUNCTION register_device(
    smallint, uuid, uuid, bytea, bigint, bytea, text, text, text, text, text, text, text, text, text, integer);

-- The second step: writes the registration of a user whose session is live, under the owner's epoch.
CREATE FUNCTION register_device(
    in_bucket smallint, new_user uuid, new_session uuid, new_hash bytea, new_epoch bigint, new_sealed_token bytea,
    new_environment text, new_bundle_id text, new_kind text, new_activity text, new_attributes_type text,
    new_installation_id text, new_locale text, new_time_zone text, new_app_version text, new_os_version text,
    new_model text, maximum integer, OUT device_id uuid, OUT registered_at timestamptz, OUT seen_at timestamptz
) LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    -- Nothing has changed, and the token is sealed under the present key: the device was seen again.
    UPDATE devices SET last_seen_at = now()
        WHERE bucket = in_bucket AND user_id = new_user AND token_hash = new_hash AND token_epoch = new_epoch
          AND session_id = new_session AND status = 'active'
          AND activity IS NOT DISTINCT FROM new_activity AND attributes_type IS NOT DISTINCT FROM new_attributes_type
          AND installation_id IS NOT DISTINCT FROM new_installation_id
          AND locale IS NOT DISTINCT FROM new_locale AND time_zone IS NOT DISTINCT FROM new_time_zone
          AND app_version IS NOT DISTINCT FROM new_app_version
          AND os_version IS NOT DISTINCT FROM new_os_version AND model IS NOT DISTINCT FROM new_model
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
        RETURNING id, created_at INTO device_id, registered_at;

    -- The user's devices of this kind beyond the maximum: those that were seen longest ago.
    DELETE FROM devices
        WHERE bucket = in_bucket AND id IN (
            SELECT id FROM devices
            WHERE bucket = in_bucket AND user_id = new_user AND kind = new_kind AND token_hash <> new_hash
            ORDER BY last_seen_at DESC, id OFFSET maximum - 1);

    INSERT INTO devices AS kept
        (bucket, id, user_id, session_id, token_hash, token_epoch, sealed_token, environment, bundle_id, kind,
         activity, attributes_type, installation_id, locale, time_zone, app_version, os_version, model, created_at)
        VALUES (in_bucket, coalesce(device_id, gen_random_uuid()), new_user, new_session, new_hash, new_epoch,
                new_sealed_token, new_environment, new_bundle_id, new_kind, new_activity, new_attributes_type,
                new_installation_id, new_locale, new_time_zone, new_app_version, new_os_version, new_model,
                coalesce(registered_at, now()))
        ON CONFLICT (bucket, user_id, token_hash) DO UPDATE SET
            session_id = excluded.session_id,
            live_until = CASE WHEN kept.session_id = excluded.session_id THEN kept.live_until END,
            -- A registration that was overtaken by a later one of the same user does not make it void.
            token_epoch = greatest(kept.token_epoch, excluded.token_epoch), sealed_token = excluded.sealed_token,
            activity = excluded.activity, attributes_type = excluded.attributes_type,
            installation_id = excluded.installation_id, status = 'active', status_reason = NULL,
            locale = excluded.locale, time_zone = excluded.time_zone, app_version = excluded.app_version,
            os_version = excluded.os_version, model = excluded.model, last_seen_at = now()
        RETURNING id, created_at, last_seen_at INTO device_id, registered_at, seen_at;
END
$$;
