DROP FUNCTION count_waiting_push_targets(text, text, bigint);
DROP FUNCTION push_callers();
DROP FUNCTION due_pushes(text[], uuid[], bigint);
DROP FUNCTION add_push_recipients(uuid, integer, integer, integer, double precision);
DROP FUNCTION find_push_devices(smallint, text, uuid, uuid, text, text, text, text, text);
CREATE INDEX push_targets_undelivered ON push_targets (bucket, user_id, updated_at)
    WHERE due_at IS NULL AND state <> 'accepted';
DROP INDEX push_targets_unknown;
DROP INDEX push_targets_failed;
CREATE INDEX push_targets_due ON push_targets (caller, urgency, due_at) WHERE due_at IS NOT NULL;
DROP INDEX push_targets_waiting;
DROP INDEX pushes_waiting_segments;
CREATE INDEX pushes_scheduled ON pushes (send_at) WHERE state = 'scheduled';
CREATE INDEX pushes_scheduled_caller ON pushes (caller) WHERE state = 'scheduled';
DROP INDEX pushes_waiting;
ALTER TABLE pushes
    DROP COLUMN recipient_count, DROP COLUMN bytes, DROP COLUMN recipients_done, DROP COLUMN next_due_at,
    DROP COLUMN unknown_devices;
