-- A coarse day, by which the sweep finds what may have expired. Creation and the sweep write it and never a rotation, so
-- that rotations stay heap-only updates. Rows without a day are looked at first.
ALTER TABLE sessions ADD COLUMN expiry_day date NOT NULL DEFAULT '-infinity';
CREATE INDEX sessions_expiry_day ON sessions (expiry_day, id);

-- Users who signed out everywhere are remembered for a while.
CREATE INDEX users_signed_out_at ON users (signed_out_at) WHERE signed_out_at IS NOT NULL;

-- Where the next batch begins: after this session of this day, or after this entry of the revocation log.
ALTER TABLE sweeps DROP COLUMN block, ADD COLUMN day date, ADD COLUMN session_id uuid,
    ADD COLUMN seq bigint NOT NULL DEFAULT 0;

-- Users are forgotten after the last session's end from now on, not by looking at all of them.
DELETE FROM users WHERE NOT EXISTS (SELECT FROM sessions WHERE sessions.user_id = users.id);
