ALTER TABLE devices ADD CONSTRAINT devices_bucket_check CHECK (bucket BETWEEN 0 AND 4095);
