-- One row for each address that a user may be reached at.
CREATE TABLE devices (
    id               uuid        NOT NULL PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id          uuid        NOT NULL,
    -- The session that registered last. Revoking it detaches the device.
    session_id       uuid        NOT NULL,
    token            bytea       NOT NULL CHECK (octet_length(token) BETWEEN 1 AND 1024),
    environment      text        NOT NULL CHECK (environment IN ('sandbox', 'production')),
    bundle_id        text        NOT NULL,
    kind             text        NOT NULL CHECK (kind IN ('alert', 'voip', 'liveactivity')),
    installation_id  text,
    status           text        NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'invalid')),
    -- What APNs said when it stopped taking the token.
    status_reason    text,
    locale           text,
    time_zone        text,
    app_version      text,
    os_version       text,
    model            text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    -- The last registration.
    updated_at       timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);

-- A token reaches one app on one device, so it belongs to one user: whoever registered it last.
CREATE UNIQUE INDEX devices_token ON devices (token, environment, bundle_id, kind);

-- An installation has one token of a kind, but as many live activities as it shows.
CREATE UNIQUE INDEX devices_installation ON devices (user_id, installation_id, environment, bundle_id, kind)
    WHERE installation_id IS NOT NULL AND kind <> 'liveactivity';

CREATE INDEX devices_user ON devices (user_id);
CREATE INDEX devices_session ON devices (session_id);

-- Sessions that may no longer register, kept for as long as an access token of theirs may live.
CREATE TABLE revoked_sessions (
    session_id  uuid        NOT NULL PRIMARY KEY,
    expires_at  timestamptz NOT NULL
);

CREATE INDEX revoked_sessions_expiry ON revoked_sessions (expires_at);

-- How far tokens' revocation feed has been read. One row.
CREATE TABLE revocation_feed (
    only_row  boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (only_row),
    cursor    text
);

INSERT INTO revocation_feed (cursor) VALUES (NULL);

-- Whether a session may register, decided so that nobody slips through.
--
-- The lock is shared among registrations and exclusive for whoever revokes the session, and both hold it until they
-- commit. So a registration either commits before the revocation looks for devices to detach, or asks here after it
-- has committed. The function is volatile: its query sees what was committed when the lock was given, not what was
-- committed when the calling statement began.
CREATE FUNCTION session_is_live(session uuid) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(session, 0));
    RETURN NOT EXISTS (SELECT 1 FROM revoked_sessions WHERE session_id = session);
END
$$;
