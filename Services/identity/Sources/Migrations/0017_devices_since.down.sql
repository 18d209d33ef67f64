ALTER TABLE users DROP COLUMN devices_since;
