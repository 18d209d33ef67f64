DROP FUNCTION count_push(smallint, uuid, uuid, integer);
DROP TABLE push_user_days;
DROP FUNCTION count_waiting_push_targets(text[], bigint);
DROP FUNCTION due_push_targets(text[], bigint);
DROP FUNCTION erase_push_targets(smallint, uuid, uuid, uuid, integer);
DROP FUNCTION list_push_targets(smallint, uuid, uuid, bigint);
DROP TYPE push_target_row;
DROP FUNCTION count_push_targets(smallint, uuid);
DROP FUNCTION replay_push_targets(smallint, uuid, date);
DROP FUNCTION cancel_push_targets(smallint, uuid);
DROP FUNCTION keep_device_liveness(smallint, uuid, uuid, timestamptz);
DROP FUNCTION record_push_outcome(
    smallint, uuid, uuid, bigint, text, text, timestamptz, integer, bigint, text, timestamptz);
DROP FUNCTION change_registration(smallint, uuid, bigint, text, timestamptz, text);
DROP FUNCTION claim_push_target(smallint, uuid, uuid, double precision);
DROP FUNCTION add_push_targets(
    smallint, text, uuid, uuid, uuid, text, text, text, text, text, text, text, timestamptz, date, integer,
    double precision);
DROP TYPE push_claim;
DROP FUNCTION stamp_push_outcomes(double precision, integer);
DROP TABLE push_outcome_head, push_outcome_log, pending_push_outcomes;
DROP TABLE push_targets;
DROP TABLE pushes;
