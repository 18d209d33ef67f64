-- Rotates a session if `token_hash` is its current token's. NULLs result otherwise.
CREATE OR REPLACE FUNCTION rotate_session(
    bucket smallint, id uuid, generation integer, token_hash bytea, successor_hash bytea, sealed_successor bytea,
    ip_address text, idle double precision, access double precision)
RETURNS session_grant
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    rotated session_grant;
BEGIN
    UPDATE sessions AS session SET
        generation = session.generation + 1,
        current_hash = successor_hash,
        previous_hash = session.current_hash,
        sealed_current = sealed_successor,
        rotated_at = statement_timestamp(),
        expires_at = LEAST(statement_timestamp() + idle * interval '1 second', session.absolute_expires_at),
        access_expires_at = GREATEST(session.access_expires_at, statement_timestamp() + access * interval '1 second'),
        late_replays = CASE WHEN session.late_replayed THEN session.late_replays ELSE 0 END,
        late_replayed = false,
        ip_address = COALESCE(rotate_session.ip_address, session.ip_address),
        expiry_day = LEAST(
            session.expiry_day, ((statement_timestamp() + idle * interval '1 second') AT TIME ZONE 'UTC')::date)
    WHERE session.bucket = rotate_session.bucket AND session.id = rotate_session.id
        AND session.generation = rotate_session.generation AND session.current_hash = token_hash
        AND session.expires_at > statement_timestamp()
    RETURNING
        session.rotated_at, session.expires_at, session.authenticated_at, session.authentication_methods,
        session.user_id
    INTO
        rotated.now, rotated.expires_at, rotated.authenticated_at, rotated.authentication_methods, rotated.user_id;
    IF FOUND THEN
        SELECT users.role, users.store_ids, users.email, users.is_email_verified, users.profile
        INTO rotated.role, rotated.store_ids, rotated.email, rotated.is_email_verified, rotated.profile
        FROM users WHERE users.bucket = rotate_session.bucket AND users.id = rotated.user_id;
    END IF;
    RETURN rotated;
END
$$;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY '{
        create_session, read_session, count_late_replay, renew_authentication, revoke_session,
        revoke_sessions, list_sessions, live_sessions, update_user}'::text[]
    LOOP
        EXECUTE format('ALTER FUNCTION %I SET plan_cache_mode = force_generic_plan', name);
    END LOOP;
END
$$;
