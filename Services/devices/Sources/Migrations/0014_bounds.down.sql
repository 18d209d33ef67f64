DROP FUNCTION disown_push_token(bytea, uuid, bigint);
DROP FUNCTION count_push_token(smallint, uuid, bytea, integer);
DROP FUNCTION register_device(
    smallint, uuid, uuid, bytea, bigint, bytea, text, text, text, text, text, text, text, text, text, text, text,
    integer);
CREATE FUNCTION register_device(
    in_bucket smallint, new_user uuid, new_session uuid, new_hash bytea, new_epoch bigint, new_sealed_token bytea,
    new_environment text, new_bundle_id text, new_kind text, new_activity text, new_attributes_type text,
    new_installation_id text, new_locale text, new_time_zone text, new_app_version text, new_os_version text,
    new_model text, maximum integer, OUT device_id uuid, OUT registered_at timestamptz, OUT seen_at timestamptz
) LANGUAGE plpgsql VOLATILE AS $$
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

DO $$
BEGIN
    EXECUTE format(
        'ALTER TABLE security_events DROP CONSTRAINT %I, ADD PRIMARY KEY (bucket, user_id, token, epoch)',
        (SELECT conname FROM pg_constraint WHERE conrelid = 'security_events'::regclass AND contype = 'p'));
END
$$;
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
            ON CONFLICT (bucket, user_id, token, epoch) DO NOTHING;
    END IF;
    RETURN removed;
END
$$;

INSERT INTO user_tags (bucket, user_id, tag)
    SELECT bucket, user_id, substr(tag, position(' ' IN tag) + 1) FROM user_tags WHERE position(' ' IN tag) > 0
    ON CONFLICT DO NOTHING;
DELETE FROM user_tags WHERE position(' ' IN tag) > 0;
ALTER TABLE user_tags DROP COLUMN written_at;
DROP TABLE erased_users;
DROP TABLE push_token_days;
DROP SEQUENCE push_token_epochs;
