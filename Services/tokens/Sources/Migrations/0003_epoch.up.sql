-- A crash forgets the numbers of transactions whose records had not reached the disk, and gives them to others. It also
-- empties unlogged tables, as does a standby's promotion; a clean stop does neither. So this row tells whether a
-- reader's snapshot still means what it meant.
CREATE UNLOGGED TABLE revocation_epoch (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    id uuid NOT NULL DEFAULT gen_random_uuid()
);
