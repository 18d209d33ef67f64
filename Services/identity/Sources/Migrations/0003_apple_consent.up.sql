-- When Apple last said that the user agrees to the app: what it tells of earlier consents does not concern this one.
ALTER TABLE apple_identities ADD COLUMN consented_at timestamptz;
