-- Version 1. Raise it with every change of this file.
-- Sessions that may not register any more.

-- Whether a session may register.
--
-- Registrations share the lock, and a revocation holds it alone, both until they commit. So a registration either
-- commits before the revocation looks for devices to detach, or asks here after the revocation has committed. The
-- function is volatile: its query sees what was committed when the lock was given, not what was committed when the
-- calling statement began.
CREATE OR REPLACE FUNCTION session_is_live(in_bucket smallint, session uuid) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(session, 0));
    RETURN NOT EXISTS (SELECT FROM revoked_sessions WHERE bucket = in_bucket AND session_id = session);
END
$$;

-- Bars a session from registering, and delays registrations in progress until the commit. False if it was barred
-- already: then its devices are detached. The comparison allows a second, because PostgreSQL rounds times to
-- microseconds.
CREATE OR REPLACE FUNCTION bar_session(in_bucket smallint, session uuid, barred_until timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
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

-- Removes the devices of a session that is barred. Returns their number.
CREATE OR REPLACE FUNCTION detach_session(in_bucket smallint, session uuid) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    detached integer;
BEGIN
    DELETE FROM devices WHERE bucket = in_bucket AND session_id = session;
    GET DIAGNOSTICS detached = ROW_COUNT;
    RETURN detached;
END
$$;
