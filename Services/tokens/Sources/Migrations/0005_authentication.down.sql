ALTER TABLE sessions
    DROP COLUMN authentication_methods,
    DROP COLUMN authenticated_at;
