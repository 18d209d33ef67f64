-- Tells this database from one that was made of its dump: a dump writes the row again, in another transaction, so that
-- its xmin is no more the number that it holds. Copies of files, standbys, pg_upgrade, VACUUM FULL and backups keep both.
CREATE TABLE database_origin (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id()
);

INSERT INTO database_origin DEFAULT VALUES;
