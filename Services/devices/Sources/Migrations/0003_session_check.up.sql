-- After a reset of the feed each session with a registration is checked: those after this one, in order. NULL for none.
ALTER TABLE revocation_feed ADD COLUMN checked_through uuid;

-- Cursors of the former feed mean nothing to the present one.
UPDATE revocation_feed SET cursor = NULL, checked_through = '00000000-0000-0000-0000-000000000000' WHERE cursor IS NOT NULL;
