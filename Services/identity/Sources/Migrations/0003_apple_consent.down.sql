ALTER TABLE apple_identities DROP COLUMN consented_at;
