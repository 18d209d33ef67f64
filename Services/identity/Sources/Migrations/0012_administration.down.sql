DROP INDEX audit_entries_by_event;
DROP INDEX audit_entries_by_age;
DROP INDEX users_disabled;
DROP INDEX users_by_role;
DROP INDEX identifiers_by_prefix;
