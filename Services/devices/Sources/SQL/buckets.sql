-- Version 1. Raise it with every change of this file.
-- Buckets of users.

-- As `Bucket(user:)`: the first 12 bits of the SHA-256 of the id's bytes.
CREATE OR REPLACE FUNCTION bucket_of(of_user uuid) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT (get_byte(digest, 0) << 4 | (get_byte(digest, 1) >> 4))::smallint FROM sha256(uuid_send(of_user)) AS digest
$$;
