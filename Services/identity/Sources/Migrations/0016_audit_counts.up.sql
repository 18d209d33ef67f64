-- Sign-ins, refused sign-ins and registrations in each five minutes of the last days, for the operators' overview. They
-- are added up from sealed entries of the audit log in the background, so that no sign-in waits for a counter.
CREATE TABLE audit_counts (
    at              timestamptz PRIMARY KEY,
    signed_in       bigint NOT NULL,
    sign_in_refused bigint NOT NULL,
    registered      bigint NOT NULL
);

-- One row: the last entry that is counted.
CREATE TABLE audit_counts_progress (
    only_row        boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    counted_through bigint NOT NULL
);

-- The overview shows one day, so counting begins with the entries of the last 26 hours.
INSERT INTO audit_counts_progress (counted_through)
SELECT coalesce(
    (SELECT id FROM audit_entries WHERE at < now() - interval '26 hours' ORDER BY at DESC, id DESC LIMIT 1), 0);
