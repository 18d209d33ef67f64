DROP FUNCTION reconcile_push_channels(text, text, uuid[], text[], double precision);
ALTER TABLE pushes DROP COLUMN channel;
DROP TABLE push_channels;
