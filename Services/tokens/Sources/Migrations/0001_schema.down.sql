DROP TYPE session_state, session_grant CASCADE;
DROP TABLE database_origin, sweeps, revocation_head, revocation_log, pending_revocations, security_events, sessions, users;
