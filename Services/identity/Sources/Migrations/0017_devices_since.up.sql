-- Since when the tokens of devices count: an undo or a new password ends all that were issued before. NULL where
-- neither has happened. Adding the column rewrites nothing.
ALTER TABLE users ADD COLUMN devices_since timestamptz;
