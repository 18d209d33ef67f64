ALTER FUNCTION stamp_audit_entries(double precision, integer) RESET jit;
