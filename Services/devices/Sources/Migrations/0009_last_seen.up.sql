-- A registration that changes nothing is written soon, together with others. So the time when a device was last seen
-- does not tell whether its token is sealed under the present key. `find_device` is for replicas of the version before.

-- The registration, if a new one would change nothing, and its token is sealed under the key of this prefix.
CREATE FUNCTION find_unchanged_device(
    in_bucket smallint, of_user uuid, of_session uuid, of_hash bytea, of_activity text, of_attributes_type text,
    of_installation_id text, of_locale text, of_time_zone text, of_app_version text, of_os_version text,
    of_model text, sealed_prefix bytea
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
      AND substr(sealed_token, 1, length(sealed_prefix)) = sealed_prefix
      -- Others are written at once: a process that dies must not leave them unseen.
      AND last_seen_at > statement_timestamp() - interval '1 day'
$$;

-- Keeps when a device was last seen. False if it is gone, or was seen later.
CREATE FUNCTION see_device(in_bucket smallint, of_device uuid, at timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE devices SET last_seen_at = at WHERE bucket = in_bucket AND id = of_device AND last_seen_at < at;
    RETURN FOUND;
END
$$;
