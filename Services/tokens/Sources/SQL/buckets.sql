-- Version 1. Raise it with every change of this file.
-- Buckets of users, and their clock.

-- The first 12 bits of the SHA-256 of the id's 16 bytes, as in Contracts.Bucket.
CREATE OR REPLACE FUNCTION bucket_of(user_id uuid) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT (get_byte(digest, 0) << 4 | (get_byte(digest, 1) >> 4))::smallint FROM sha256(uuid_send(user_id)) AS digest
$$;

-- The clock of the server that has the bucket.
CREATE OR REPLACE FUNCTION bucket_clock(bucket smallint) RETURNS timestamptz LANGUAGE sql AS 'SELECT clock_timestamp()';
