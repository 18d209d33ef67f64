-- Rows of a user stand in the user's bucket (`Contracts.Bucket`) in every table, and the owner of a push token under the
-- token's keyed hash: a distributed database finds each by the first column of its key. Each function below touches one
-- bucket, or one hash, which is its first argument.
--
-- Registrations from before have neither a hash nor a sealed token. Apps register again at their next launch.
DROP FUNCTION session_is_live(uuid);
DROP TABLE devices;

-- As `Bucket(user:)`: the first 12 bits of the SHA-256 of the id's bytes.
CREATE FUNCTION bucket_of(of_user uuid) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT (get_byte(digest, 0) << 4 | (get_byte(digest, 1) >> 4))::smallint FROM sha256(uuid_send(of_user)) AS digest
$$;

-- A token reaches one app on one device, so it belongs to one user: the user who registered it last.
CREATE TABLE push_token_owners (
    -- HMAC-SHA256 of token, environment, bundle id and kind, under a key outside the database.
    token_hash  bytea       NOT NULL PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    user_id     uuid        NOT NULL,
    -- Rises with each change of owner. A registration of another user or epoch is void.
    epoch       bigint      NOT NULL,
    -- When the owner's registration was last written. An owner without a registration is removed some time later.
    claimed_at  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);

-- For the deletion of an account, which looks at every hash.
CREATE INDEX push_token_owners_user ON push_token_owners (user_id);

-- One row for each token by which a user may be reached.
CREATE TABLE devices (
    bucket           smallint    NOT NULL CHECK (bucket BETWEEN 0 AND 4095),
    id               uuid        NOT NULL DEFAULT gen_random_uuid(),
    user_id          uuid        NOT NULL,
    -- The session that registered last. Revoking it detaches the device.
    session_id       uuid        NOT NULL,
    token_hash       bytea       NOT NULL CHECK (octet_length(token_hash) = 32),
    -- The owner's epoch at the registration.
    token_epoch      bigint      NOT NULL,
    -- The length of the key's id, the id, and the token under that key, bound to `token_hash`.
    sealed_token     bytea       NOT NULL,
    environment      text        NOT NULL CHECK (environment IN ('sandbox', 'production')),
    bundle_id        text        NOT NULL,
    kind             text        NOT NULL CHECK (kind IN ('alert', 'voip', 'liveactivity', 'pushtostart')),
    -- Of a Live Activity: the activity that the token updates, and the type of activities that it starts.
    activity         text,
    attributes_type  text,
    installation_id  text,
    status           text        NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'invalid')),
    -- APNs' reason for refusing the token.
    status_reason    text,
    -- When the session ends unless it is used before, as tokens has answered; NULL before it was asked.
    live_until       timestamptz,
    -- When Apple first accepted the token: any user can register an invented one.
    apns_accepted_at timestamptz,
    -- Apple has refused too many pushes in a row to the device (429).
    apns_paused_until timestamptz,
    locale           text,
    time_zone        text,
    app_version      text,
    os_version       text,
    model            text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    -- The last registration, to the day if it changed nothing. In no index, so that writing it is a heap-only update.
    last_seen_at     timestamptz NOT NULL DEFAULT now(),
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

-- For operators: the registrations that are not void.
CREATE VIEW owned_devices AS
    SELECT devices.bucket, devices.id, devices.user_id, devices.session_id, devices.token_hash, devices.token_epoch,
           devices.sealed_token, devices.environment, devices.bundle_id, devices.kind, devices.installation_id,
           devices.status, devices.status_reason, devices.locale, devices.time_zone, devices.app_version,
           devices.os_version, devices.model, devices.created_at, devices.last_seen_at, devices.activity,
           devices.attributes_type, devices.apns_accepted_at, devices.apns_paused_until
    FROM devices
    JOIN push_token_owners AS owners ON owners.token_hash = devices.token_hash
        AND owners.user_id = devices.user_id AND owners.epoch = devices.token_epoch;

-- Operators look here when a user asks. A row is in the bucket of the token's former owner.
CREATE TABLE security_events (
    bucket       smallint    NOT NULL CHECK (bucket BETWEEN 0 AND 4095),
    user_id      uuid        NOT NULL,
    kind         text        NOT NULL CHECK (kind IN ('tokenOwnerChanged')),
    -- The owner since then.
    new_user_id  uuid        NOT NULL,
    -- The beginning of the token's hash.
    token        bytea       NOT NULL CHECK (octet_length(token) = 8),
    -- That of the new owner.
    epoch        bigint      NOT NULL,
    occurred_at  timestamptz NOT NULL DEFAULT now(),
    -- An event that is recorded twice is one.
    PRIMARY KEY (bucket, user_id, token, epoch)
);

CREATE INDEX security_events_time ON security_events (bucket, occurred_at);

-- A session id begins with its user's bucket.
ALTER TABLE revoked_sessions ADD COLUMN bucket smallint CHECK (bucket BETWEEN 0 AND 4095);
UPDATE revoked_sessions
    SET bucket = get_byte(uuid_send(session_id), 0) << 4 | (get_byte(uuid_send(session_id), 1) >> 4);
ALTER TABLE revoked_sessions ALTER COLUMN bucket SET NOT NULL, DROP CONSTRAINT revoked_sessions_pkey,
    ADD PRIMARY KEY (bucket, session_id);

-- Whether a session may register.
--
-- Registrations share the lock, and a revocation holds it alone, both until they commit. So a registration either
-- commits before the revocation looks for devices to detach, or asks here after the revocation has committed. The
-- function is volatile: its query sees what was committed when the lock was given, not what was committed when the
-- calling statement began.
CREATE FUNCTION session_is_live(in_bucket smallint, session uuid) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(session, 0));
    RETURN NOT EXISTS (SELECT FROM revoked_sessions WHERE bucket = in_bucket AND session_id = session);
END
$$;

-- Bars a session from registering, and delays what registers with it until the commit. False if it was barred already:
-- then its devices are detached. A second is allowed for, because PostgreSQL rounds times to microseconds.
CREATE FUNCTION bar_session(in_bucket smallint, session uuid, barred_until timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF EXISTS (
        SELECT FROM revoked_sessions
        WHERE bucket = in_bucket AND session_id = session AND expires_at >= barred_until - interval '1 second'
    ) THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(uuid_hash_extended(session, 0));
    INSERT INTO revoked_sessions (bucket, session_id, expires_at) VALUES (in_bucket, session, barred_until)
        ON CONFLICT (bucket, session_id) DO UPDATE SET
            expires_at = greatest(revoked_sessions.expires_at, excluded.expires_at);
    RETURN true;
END
$$;

-- Removes the devices of a session that is barred. Returns how many there were.
CREATE FUNCTION detach_session(in_bucket smallint, session uuid) RETURNS integer
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    detached integer;
BEGIN
    DELETE FROM devices WHERE bucket = in_bucket AND session_id = session;
    GET DIAGNOSTICS detached = ROW_COUNT;
    RETURN detached;
END
$$;

-- The user's device, if the same registration was written within `seconds`. Its session is live: a revocation removes
-- such rows.
CREATE FUNCTION find_device(
    in_bucket smallint, of_user uuid, of_session uuid, of_hash bytea, of_activity text, of_attributes_type text,
    of_installation_id text, of_locale text, of_time_zone text, of_app_version text, of_os_version text,
    of_model text, seconds double precision
) RETURNS TABLE (device_id uuid, registered_at timestamptz, seen_at timestamptz, epoch bigint)
LANGUAGE sql STABLE AS $$
    SELECT id, created_at, last_seen_at, token_epoch FROM devices
    WHERE bucket = in_bucket AND user_id = of_user AND token_hash = of_hash AND session_id = of_session
      AND status = 'active'
      AND activity IS NOT DISTINCT FROM of_activity AND attributes_type IS NOT DISTINCT FROM of_attributes_type
      AND installation_id IS NOT DISTINCT FROM of_installation_id
      AND locale IS NOT DISTINCT FROM of_locale AND time_zone IS NOT DISTINCT FROM of_time_zone
      AND app_version IS NOT DISTINCT FROM of_app_version
      AND os_version IS NOT DISTINCT FROM of_os_version AND model IS NOT DISTINCT FROM of_model
      AND last_seen_at > now() - make_interval(secs => seconds)
$$;

CREATE FUNCTION push_token_owner(of_hash bytea) RETURNS TABLE (owner_id uuid, owner_epoch bigint)
LANGUAGE sql STABLE AS $$
    SELECT user_id, epoch FROM push_token_owners WHERE token_hash = of_hash
$$;

-- The first step: makes the user the token's owner. The same owner keeps the epoch. If there was another one, its
-- registration is void from now on.
--
-- A first epoch is the time, so that it is higher than any that was given to the token before its owner was removed.
CREATE FUNCTION own_push_token(
    of_hash bytea, new_user uuid, OUT new_epoch bigint, OUT former_user uuid, OUT former_epoch bigint
) LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    LOOP
        UPDATE push_token_owners SET claimed_at = clock_timestamp()
            WHERE token_hash = of_hash AND user_id = new_user
            RETURNING epoch INTO new_epoch;
        EXIT WHEN FOUND;
        INSERT INTO push_token_owners (token_hash, user_id, epoch)
            VALUES (of_hash, new_user, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
            ON CONFLICT (token_hash) DO NOTHING
            RETURNING epoch INTO new_epoch;
        EXIT WHEN FOUND;
        SELECT user_id, epoch INTO former_user, former_epoch FROM push_token_owners
            WHERE token_hash = of_hash AND user_id <> new_user FOR UPDATE;
        -- Otherwise another registration was faster.
        CONTINUE WHEN NOT FOUND;
        UPDATE push_token_owners SET user_id = new_user, epoch = epoch + 1, claimed_at = clock_timestamp()
            WHERE token_hash = of_hash
            RETURNING epoch INTO new_epoch;
        EXIT;
    END LOOP;
END
$$;

-- The second step: writes the registration under the owner's epoch. NULLs, and nothing is written, if the session has
-- been barred since the first look: on a server that does not have the owner, its lock ended with that look.
CREATE FUNCTION register_device(
    in_bucket smallint, new_user uuid, new_session uuid, new_hash bytea, new_epoch bigint, new_sealed_token bytea,
    new_environment text, new_bundle_id text, new_kind text, new_activity text, new_attributes_type text,
    new_installation_id text, new_locale text, new_time_zone text, new_app_version text, new_os_version text,
    new_model text, maximum integer, OUT device_id uuid, OUT registered_at timestamptz, OUT seen_at timestamptz
) LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan AS $$
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

-- The third step, in the former owner's bucket: removes the void registration, and records that the token changed
-- hands. A registration that the former owner has renewed since has a higher epoch, and stays.
CREATE FUNCTION remove_void_device(
    in_bucket smallint, former_user uuid, of_hash bytea, former_epoch bigint, new_user uuid, new_epoch bigint
) RETURNS integer
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    removed integer;
BEGIN
    DELETE FROM devices
        WHERE bucket = in_bucket AND user_id = former_user AND token_hash = of_hash AND token_epoch <= former_epoch;
    GET DIAGNOSTICS removed = ROW_COUNT;
    IF new_user <> former_user THEN
        INSERT INTO security_events (bucket, user_id, kind, new_user_id, token, epoch)
            VALUES (in_bucket, former_user, 'tokenOwnerChanged', new_user, substr(of_hash, 1, 8), new_epoch)
            ON CONFLICT (bucket, user_id, token, epoch) DO NOTHING;
    END IF;
    RETURN removed;
END
$$;
