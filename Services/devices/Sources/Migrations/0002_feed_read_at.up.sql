-- When the feed was last read to its end: whether entries can be lost where it has to be read from its beginning.
ALTER TABLE revocation_feed ADD COLUMN read_at timestamptz;
