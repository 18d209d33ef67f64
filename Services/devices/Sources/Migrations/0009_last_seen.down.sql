DROP FUNCTION see_device(smallint, uuid, timestamptz);
DROP FUNCTION find_unchanged_device(
    smallint, uuid, uuid, bytea, text, text, text, text, text, text, text, text, bytea);
