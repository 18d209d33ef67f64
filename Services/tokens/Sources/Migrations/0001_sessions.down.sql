DROP TABLE audit_events;
DROP TABLE revocation_horizon;
DROP TABLE revocations;
DROP TABLE sessions;
DROP TABLE users;
