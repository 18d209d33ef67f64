DROP INDEX audit_by_age;
