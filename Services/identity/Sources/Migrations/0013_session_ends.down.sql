DROP INDEX audit_entries_of_session_ends;
DROP TABLE revocation_feed;
