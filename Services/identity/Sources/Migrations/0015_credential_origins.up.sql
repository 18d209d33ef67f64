-- From which account a credential came, and when that account was merged into the present one. NULL: it has always been
-- this account's. Constant defaults: no table is rewritten.
ALTER TABLE identifiers ADD COLUMN merged_from uuid, ADD COLUMN merged_at timestamptz;
ALTER TABLE apple_identities ADD COLUMN merged_from uuid, ADD COLUMN merged_at timestamptz;

-- The same for the identifier that a token restores, with the time since when the account had it. `is_merge`: a merge
-- made the token, no change. `is_contested`: the other side of a merge has been restored since.
ALTER TABLE identifier_changes
    ADD COLUMN since timestamptz,
    ADD COLUMN merged_from uuid,
    ADD COLUMN merged_at timestamptz,
    ADD COLUMN is_merge boolean NOT NULL DEFAULT false,
    ADD COLUMN is_contested boolean NOT NULL DEFAULT false;
