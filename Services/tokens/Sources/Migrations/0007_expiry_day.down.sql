DROP INDEX users_signed_out_at;
ALTER TABLE sessions DROP COLUMN expiry_day;
ALTER TABLE sweeps DROP COLUMN day, DROP COLUMN session_id, DROP COLUMN seq, ADD COLUMN block bigint NOT NULL DEFAULT 0;
