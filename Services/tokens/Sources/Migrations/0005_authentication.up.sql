-- When the session's user last proved who they are, and how. Without a time it is when the session was made: so it is for
-- sessions from before this migration, and for those that an older replica makes beside newer ones.
ALTER TABLE sessions
    ADD COLUMN authenticated_at timestamptz,
    -- As in the claim amr; empty where it is not known.
    ADD COLUMN authentication_methods text[] NOT NULL DEFAULT '{}';
