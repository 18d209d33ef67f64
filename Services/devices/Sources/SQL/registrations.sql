-- Version 1. Raise it with every change of this file.
-- Registrations of devices. Each function touches one bucket, or the owner of one token's hash, which is its first
-- argument, so a distributed database runs it on one server. A registration is four steps, because the token's owner,
-- the user and the former owner may be on three servers.

-- The registration, if a new one would change nothing, and its token is sealed under the key of this prefix.
CREATE OR REPLACE FUNCTION find_unchanged_device(
    in_bucket smallint, of_user uuid, of_session uuid, of_hash bytea, of_activity text, of_attributes_type text,
    of_installation_id text, of_locale text, of_time_zone text, of_app_version text, of_os_version text,
    of_model text, sealed_prefix bytea, of_alerts_allowed boolean
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

-- The owner of a token. No row if it has none.
CREATE OR REPLACE FUNCTION push_token_owner(of_hash bytea) RETURNS TABLE (owner_id uuid, owner_epoch bigint)
LANGUAGE sql STABLE AS $$
    SELECT user_id, epoch FROM push_token_owners WHERE token_hash = of_hash
$$;

-- The first step of a registration: counts a token that the user has not registered yet. False if the user has
-- registered `most` new ones today.
CREATE OR REPLACE FUNCTION count_push_token(in_bucket smallint, of_user uuid, of_hash bytea, most integer)
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF EXISTS (SELECT FROM devices WHERE bucket = in_bucket AND user_id = of_user AND token_hash = of_hash) THEN
        RETURN true;
    END IF;
    INSERT INTO push_token_days AS counted (bucket, user_id, day, tokens) VALUES (in_bucket, of_user, current_date, 1)
        ON CONFLICT (bucket, user_id, day) DO UPDATE SET tokens = counted.tokens + 1 WHERE counted.tokens < most;
    RETURN FOUND;
END
$$;

-- The second step of a registration: makes the user the token's owner. The same owner keeps the epoch. If the token had
-- another owner, that owner's registration is void from now on.
CREATE OR REPLACE FUNCTION own_push_token(
    of_hash bytea, new_user uuid, OUT new_epoch bigint, OUT former_user uuid, OUT former_epoch bigint
) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    LOOP
        UPDATE push_token_owners SET claimed_at = clock_timestamp()
            WHERE token_hash = of_hash AND user_id = new_user
            RETURNING epoch INTO new_epoch;
        EXIT WHEN FOUND;
        INSERT INTO push_token_owners (token_hash, user_id, epoch)
            VALUES (of_hash, new_user, nextval('push_token_epochs'))
            ON CONFLICT (token_hash) DO NOTHING
            RETURNING epoch INTO new_epoch;
        EXIT WHEN FOUND;
        SELECT user_id, epoch INTO former_user, former_epoch FROM push_token_owners
            WHERE token_hash = of_hash AND user_id <> new_user FOR UPDATE;
        -- Otherwise another registration was faster.
        CONTINUE WHEN NOT FOUND;
        UPDATE push_token_owners
            SET user_id = new_user, epoch = nextval('push_token_epochs'), claimed_at = clock_timestamp()
            WHERE token_hash = of_hash
            RETURNING epoch INTO new_epoch;
        EXIT;
    END LOOP;
END
$$;

-- The third step of a registration: writes it under the owner's epoch. If the session has been barred since the first
-- check, it writes nothing and returns NULLs: on a server that does not have the owner, the lock ended with that check.
-- The tokens that it displaces lose their owner in a step of their own.
CREATE OR REPLACE FUNCTION register_device(
    in_bucket smallint, new_user uuid, new_session uuid, new_hash bytea, new_epoch bigint, new_sealed_token bytea,
    new_environment text, new_bundle_id text, new_kind text, new_activity text, new_attributes_type text,
    new_installation_id text, new_locale text, new_time_zone text, new_app_version text, new_os_version text,
    new_model text, maximum integer, new_alerts_allowed boolean, OUT device_id uuid,
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

-- The last step of a registration, in the former owner's bucket: removes the void registration, and records that the
-- token changed hands. A registration that the former owner has renewed since has a higher epoch, and stays.
CREATE OR REPLACE FUNCTION remove_void_device(
    in_bucket smallint, former_user uuid, of_hash bytea, former_epoch bigint, new_user uuid, new_epoch bigint
) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    removed integer;
BEGIN
    DELETE FROM devices
        WHERE bucket = in_bucket AND user_id = former_user AND token_hash = of_hash AND token_epoch <= former_epoch;
    GET DIAGNOSTICS removed = ROW_COUNT;
    IF new_user <> former_user THEN
        INSERT INTO security_events (bucket, user_id, kind, new_user_id, token, epoch)
            VALUES (in_bucket, former_user, 'tokenOwnerChanged', new_user, substr(of_hash, 1, 8), new_epoch)
            ON CONFLICT (bucket, user_id, token, new_user_id) DO UPDATE SET
                epoch = excluded.epoch, occurred_at = excluded.occurred_at
            WHERE security_events.epoch < excluded.epoch;
    END IF;
    RETURN removed;
END
$$;

-- Removes the owner of a displaced registration, unless the token has another one by now. A registration in progress
-- holds the owner, which then stays, and is purged if it has no registration.
CREATE OR REPLACE FUNCTION disown_push_token(of_hash bytea, of_user uuid, of_epoch bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM push_token_owners
        WHERE token_hash = of_hash AND user_id = of_user AND epoch = of_epoch AND token_hash IN (
            SELECT token_hash FROM push_token_owners WHERE token_hash = of_hash FOR UPDATE SKIP LOCKED);
    RETURN FOUND;
END
$$;

-- Keeps when a device was last seen. False if it is gone, or was seen later.
CREATE OR REPLACE FUNCTION see_device(in_bucket smallint, of_device uuid, at timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE devices SET last_seen_at = at WHERE bucket = in_bucket AND id = of_device AND last_seen_at < at;
    RETURN FOUND;
END
$$;

-- Keeps when the session of a device ends unless it is used before.
CREATE OR REPLACE FUNCTION keep_device_liveness(in_bucket smallint, of_device uuid, of_session uuid, until timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE devices SET live_until = until
        WHERE bucket = in_bucket AND id = of_device AND session_id = of_session AND live_until IS DISTINCT FROM until;
END
$$;

-- Changes the registration with the token of `of_token_epoch`. `change` is `accepted`; `invalid`, unless it was seen
-- after `change_at`; `pause` until then; or empty.
CREATE OR REPLACE FUNCTION change_registration(
    in_bucket smallint, of_device uuid, of_token_epoch bigint, change text, change_at timestamptz, reason text
) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
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
