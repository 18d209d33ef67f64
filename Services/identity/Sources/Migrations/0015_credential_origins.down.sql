ALTER TABLE identifier_changes
    DROP COLUMN is_contested, DROP COLUMN is_merge, DROP COLUMN merged_at, DROP COLUMN merged_from, DROP COLUMN since;
ALTER TABLE apple_identities DROP COLUMN merged_at, DROP COLUMN merged_from;
ALTER TABLE identifiers DROP COLUMN merged_at, DROP COLUMN merged_from;
