-- The services' sessions plan for all values (`plan_cache_mode`). A clause of each function costs 15 µs a call.
DO $$
DECLARE
    name regprocedure;
BEGIN
    FOR name IN
        SELECT oid FROM pg_proc
        WHERE pronamespace = current_schema()::regnamespace AND 'plan_cache_mode=force_generic_plan' = ANY (proconfig)
    LOOP
        EXECUTE format('ALTER FUNCTION %s RESET plan_cache_mode', name);
    END LOOP;
END
$$;
