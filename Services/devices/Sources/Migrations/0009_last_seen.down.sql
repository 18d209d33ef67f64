DROP FUNCTION see_device(smallint, uuid, timestamptz);
DROP FUNCTION find_device(smallint, uuid, uuid, bytea, text, text, text, text, text, text, text, text, bytea);
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
