DROP FUNCTION session_is_live(uuid);
DROP TABLE revocation_feed;
DROP TABLE revoked_sessions;
DROP TABLE devices;
