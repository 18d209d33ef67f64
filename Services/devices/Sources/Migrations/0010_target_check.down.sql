ALTER TABLE push_targets ADD CONSTRAINT push_targets_bucket_check CHECK (bucket BETWEEN 0 AND 4095);
