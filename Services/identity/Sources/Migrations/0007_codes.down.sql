DROP TABLE codes;
-- Messages that wait are of no use to the version that comes back.
DELETE FROM outbox WHERE kind = 'message';
ALTER TABLE outbox DROP CONSTRAINT outbox_destination_check;
ALTER TABLE outbox ADD CONSTRAINT outbox_destination_check
    CHECK (destination IN ('tokens', 'devices', 'apple', 'mail'));
