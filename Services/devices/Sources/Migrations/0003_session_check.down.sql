ALTER TABLE revocation_feed DROP COLUMN checked_through;
UPDATE revocation_feed SET cursor = NULL;
