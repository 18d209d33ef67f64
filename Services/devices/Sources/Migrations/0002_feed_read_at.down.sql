ALTER TABLE revocation_feed DROP COLUMN read_at;
