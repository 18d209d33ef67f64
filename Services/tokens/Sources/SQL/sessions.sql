-- Version 1. Raise it with every change of this file.
-- One function for each operation on sessions. Its first parameter is the bucket, and it touches no other bucket, so
-- a distributed database runs the whole operation on the server that has the bucket. Lifetimes are in seconds.
--
-- Sessions of the service set `plan_cache_mode`: on partitioned tables PostgreSQL would plan each call anew, for more
-- than the call's own cost, and a clause of each function would cost 15 µs a call. A generic plan of a join may read
-- all users of the bucket, so a session's user is read by a statement of its own.

-- Locks a user until the transaction ends, so that only one transaction at a time creates or ends sessions of the user.
-- Later statements of the caller see what was committed before the lock was given.
CREATE OR REPLACE FUNCTION lock_user(bucket smallint, user_id uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(user_id::text, 0));
END
$$;

-- Creates a session, or returns the reason in `refusal`. `started_at` is when the sign-in began, by the bucket's clock.
-- If the user then has more than `session_limit` sessions, the least recently used ones end.
CREATE OR REPLACE FUNCTION create_session(
    bucket smallint, id uuid, user_id uuid, version bigint, role text, store_ids text[], email text,
    is_email_verified boolean, profile text, credentials_version bigint, token_hash bytea, device jsonb,
    ip_address text, methods text[], started_at timestamptz, session_limit bigint,
    idle double precision, absolute double precision, access double precision,
    OUT refusal text, OUT has_ended boolean, OUT created_at timestamptz, OUT expires_at timestamptz,
    OUT stored_role text, OUT stored_store_ids text[], OUT stored_email text, OUT stored_is_email_verified boolean,
    OUT stored_profile text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM lock_user(create_session.bucket, create_session.user_id);
    created_at := clock_timestamp();
    expires_at := created_at + LEAST(idle, absolute) * interval '1 second';
    refusal := CASE
        WHEN EXISTS (
            SELECT FROM security_events AS event
            WHERE event.bucket = create_session.bucket AND event.user_id = create_session.user_id
                AND kind = 'userErased')
            THEN 'userErased'
        WHEN EXISTS (
            SELECT FROM users
            WHERE users.bucket = create_session.bucket AND users.id = create_session.user_id
                AND signed_out_at >= started_at)
            THEN 'signedOut'
        WHEN EXISTS (
            SELECT FROM sessions AS session
            WHERE session.bucket = create_session.bucket AND session.id = create_session.id)
            THEN 'idTaken'
    END;
    IF refusal IS NOT NULL THEN
        RETURN;
    END IF;

    INSERT INTO users (bucket, id, version, role, store_ids, email, is_email_verified, profile)
    VALUES (
        create_session.bucket, create_session.user_id, create_session.version, create_session.role,
        create_session.store_ids, create_session.email, create_session.is_email_verified, create_session.profile)
    ON CONFLICT ON CONSTRAINT users_pkey DO UPDATE SET
        version = excluded.version, role = excluded.role, store_ids = excluded.store_ids, email = excluded.email,
        is_email_verified = excluded.is_email_verified, profile = excluded.profile
    WHERE users.version < excluded.version;

    WITH ended AS (
        DELETE FROM sessions AS session
        WHERE session.bucket = create_session.bucket AND session.id IN (
            SELECT other.id FROM sessions AS other
            WHERE other.bucket = create_session.bucket AND other.user_id = create_session.user_id
            ORDER BY rotated_at DESC, other.id OFFSET session_limit - 1)
        RETURNING session.id, session.user_id, access_expires_at
    )
    INSERT INTO pending_revocations (bucket, session_id, user_id, access_expires_at, reason)
    SELECT
        create_session.bucket, ended.id, ended.user_id,
        GREATEST(access_expires_at, create_session.created_at + access * interval '1 second'), 'sessionLimit'
    FROM ended;
    has_ended := FOUND;

    INSERT INTO sessions (
        bucket, id, user_id, credentials_version, current_hash, created_at, rotated_at, expires_at,
        absolute_expires_at, access_expires_at, authenticated_at, authentication_methods, expiry_day, device,
        ip_address)
    VALUES (
        create_session.bucket, create_session.id, create_session.user_id, create_session.credentials_version,
        token_hash, create_session.created_at, create_session.created_at, create_session.expires_at,
        create_session.created_at + absolute * interval '1 second',
        create_session.created_at + access * interval '1 second', create_session.created_at, methods,
        (create_session.expires_at AT TIME ZONE 'UTC')::date, create_session.device, create_session.ip_address);

    SELECT users.role, users.store_ids, users.email, users.is_email_verified, users.profile
    INTO stored_role, stored_store_ids, stored_email, stored_is_email_verified, stored_profile
    FROM users WHERE users.bucket = create_session.bucket AND users.id = create_session.user_id;
END
$$;

-- Rotates a session if `token_hash` is its current token's. NULLs result otherwise.
CREATE OR REPLACE FUNCTION rotate_session(
    bucket smallint, id uuid, generation integer, token_hash bytea, successor_hash bytea, sealed_successor bytea,
    ip_address text, idle double precision, access double precision)
RETURNS session_grant
LANGUAGE plpgsql AS $$
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

-- A session with its user, or NULLs.
CREATE OR REPLACE FUNCTION read_session(bucket smallint, id uuid)
RETURNS session_state
LANGUAGE plpgsql STABLE AS $$
DECLARE
    state session_state;
BEGIN
    SELECT
        session.generation, session.current_hash, session.previous_hash, session.sealed_current, session.rotated_at,
        session.late_replays, session.late_replayed, session.absolute_expires_at, statement_timestamp(),
        session.expires_at, session.authenticated_at, session.authentication_methods, session.user_id
    INTO
        state.generation, state.current_hash, state.previous_hash, state.sealed_current, state.rotated_at,
        state.late_replays, state.late_replayed, state.absolute_expires_at, state.now,
        state.expires_at, state.authenticated_at, state.authentication_methods, state.user_id
    FROM sessions AS session WHERE session.bucket = read_session.bucket AND session.id = read_session.id;
    IF FOUND THEN
        SELECT users.role, users.store_ids, users.email, users.is_email_verified, users.profile
        INTO state.role, state.store_ids, state.email, state.is_email_verified, state.profile
        FROM users WHERE users.bucket = read_session.bucket AND users.id = state.user_id;
    END IF;
    RETURN state;
END
$$;

-- Counts a late replay of the current token's predecessor, once for each generation. False if the row has changed.
CREATE OR REPLACE FUNCTION count_late_replay(bucket smallint, id uuid, generation integer) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sessions AS session SET late_replays = session.late_replays + 1, late_replayed = true
    WHERE session.bucket = count_late_replay.bucket AND session.id = count_late_replay.id
        AND session.generation = count_late_replay.generation AND NOT session.late_replayed;
    RETURN FOUND;
END
$$;

-- Records that the user of a live session has authenticated now. False if the user has no such session.
CREATE OR REPLACE FUNCTION renew_authentication(bucket smallint, id uuid, user_id uuid, methods text[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sessions AS session SET authenticated_at = statement_timestamp(), authentication_methods = methods
    WHERE session.bucket = renew_authentication.bucket AND session.id = renew_authentication.id
        AND session.user_id = renew_authentication.user_id AND session.expires_at > statement_timestamp();
    RETURN FOUND;
END
$$;

-- Ends one session. It must match `user_id`, `generation`, and `token_hash` (the current token's or its predecessor's)
-- where these are given. A `theft` is recorded. False if no session matches.
CREATE OR REPLACE FUNCTION revoke_session(
    bucket smallint, id uuid, user_id uuid, generation integer, token_hash bytea, reason text, theft text,
    access double precision)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    WITH ended AS (
        DELETE FROM sessions AS session
        WHERE session.bucket = revoke_session.bucket AND session.id = revoke_session.id
            AND (revoke_session.user_id IS NULL OR session.user_id = revoke_session.user_id)
            AND (revoke_session.generation IS NULL OR session.generation = revoke_session.generation)
            AND (token_hash IS NULL OR session.current_hash = token_hash OR session.previous_hash = token_hash)
        RETURNING session.user_id, session.access_expires_at
    ), event AS (
        INSERT INTO security_events (bucket, kind, user_id, session_id)
        SELECT revoke_session.bucket, 'theft.' || theft, ended.user_id, revoke_session.id FROM ended
        WHERE theft IS NOT NULL
    )
    INSERT INTO pending_revocations (bucket, session_id, user_id, access_expires_at, reason)
    SELECT
        revoke_session.bucket, revoke_session.id, ended.user_id,
        GREATEST(ended.access_expires_at, statement_timestamp() + access * interval '1 second'),
        revoke_session.reason
    FROM ended;
    RETURN FOUND;
END
$$;

-- Ends the user's sessions except `spared`; with `below_version`, only those whose sign-in was verified against older
-- credentials. With `signs_out`, a sign-in in progress gets no session either. The reason accountDeleted removes the
-- user, who can then have no session again.
CREATE OR REPLACE FUNCTION revoke_sessions(
    bucket smallint, user_id uuid, spared uuid, below_version bigint, reason text, signs_out boolean,
    access double precision)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lock_user(revoke_sessions.bucket, revoke_sessions.user_id);
    WITH ended AS (
        DELETE FROM sessions AS session
        WHERE session.bucket = revoke_sessions.bucket AND session.user_id = revoke_sessions.user_id
            AND session.id IS DISTINCT FROM spared
            AND (below_version IS NULL OR session.credentials_version < below_version)
        RETURNING session.id, session.access_expires_at
    )
    INSERT INTO pending_revocations (bucket, session_id, user_id, access_expires_at, reason)
    SELECT
        revoke_sessions.bucket, ended.id, revoke_sessions.user_id,
        GREATEST(ended.access_expires_at, clock_timestamp() + access * interval '1 second'),
        revoke_sessions.reason
    FROM ended;
    IF signs_out THEN
        UPDATE users SET signed_out_at = clock_timestamp()
        WHERE users.bucket = revoke_sessions.bucket AND users.id = revoke_sessions.user_id;
    END IF;
    IF revoke_sessions.reason = 'accountDeleted' THEN
        DELETE FROM users WHERE users.bucket = revoke_sessions.bucket AND users.id = revoke_sessions.user_id;
        INSERT INTO security_events (bucket, kind, user_id)
        VALUES (revoke_sessions.bucket, 'userErased', revoke_sessions.user_id);
    END IF;
END
$$;

-- The user's sessions that have not expired, the most recently used first.
CREATE OR REPLACE FUNCTION list_sessions(bucket smallint, user_id uuid)
RETURNS TABLE (
    id uuid, created_at timestamptz, rotated_at timestamptz, expires_at timestamptz, device jsonb, ip_address text)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT id, created_at, rotated_at, expires_at, device, ip_address FROM sessions AS session
    WHERE session.bucket = list_sessions.bucket AND session.user_id = list_sessions.user_id
        AND expires_at > statement_timestamp()
    ORDER BY rotated_at DESC, id;
END
$$;

-- Those of `ids` whose sessions have not ended, and when these expire if they are not used. All are of this bucket.
CREATE OR REPLACE FUNCTION live_sessions(bucket smallint, ids uuid[], OUT id uuid, OUT expires_at timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT session.id, session.expires_at FROM sessions AS session
    WHERE session.bucket = live_sessions.bucket AND session.id = ANY (ids)
        AND session.expires_at > statement_timestamp();
END
$$;

-- Stores a newer snapshot of a user. An older one, or one of a user without sessions, changes nothing.
CREATE OR REPLACE FUNCTION update_user(
    bucket smallint, id uuid, version bigint, role text, store_ids text[], email text, is_email_verified boolean,
    profile text)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE users SET
        version = update_user.version, role = update_user.role, store_ids = update_user.store_ids,
        email = update_user.email, is_email_verified = update_user.is_email_verified, profile = update_user.profile
    WHERE users.bucket = update_user.bucket AND users.id = update_user.id AND users.version < update_user.version;
END
$$;
