DROP TABLE identifier_changes;
ALTER TABLE identifiers DROP COLUMN changed_at;
