DROP FUNCTION push_buckets(uuid);
DROP FUNCTION add_spaced_push_targets(uuid);
DROP FUNCTION space_push_targets(smallint, uuid, timestamptz, double precision);
DROP FUNCTION add_push_outcome(
    smallint, uuid, uuid, uuid, text, text, date, text, text, timestamptz, integer, bigint, text, timestamptz);
DROP FUNCTION move_push_slice(
    uuid, smallint, bigint, smallint, uuid, integer, integer, integer, double precision, double precision, integer,
    integer);
DROP FUNCTION count_segment(smallint, push_segment, integer);
DROP FUNCTION segment_devices(smallint, push_segment, uuid, integer, integer);
DROP FUNCTION count_devices(smallint);
DROP FUNCTION version_numbers(text);
DROP TABLE push_rates;
DROP TABLE push_slices;
-- Without their segments they have no recipients.
DELETE FROM pushes WHERE slice_count IS NOT NULL;
ALTER TABLE pushes DROP COLUMN segment, DROP COLUMN slice_count, DROP COLUMN rate_per_minute;
DROP TYPE push_segment;
DROP TABLE user_tags;
