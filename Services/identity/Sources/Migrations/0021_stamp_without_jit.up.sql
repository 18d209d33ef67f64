-- Where sequential scans are off, the planner thinks that of the head's one row immense, and JIT compiled it for 60 ms.
ALTER FUNCTION stamp_audit_entries(double precision, integer) SET jit = off;
