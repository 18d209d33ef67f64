DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY '{
        create_session, rotate_session, read_session, count_late_replay, renew_authentication, revoke_session,
        revoke_sessions, list_sessions, live_sessions, update_user}'::text[]
    LOOP
        EXECUTE format('ALTER FUNCTION %I SET plan_cache_mode = force_generic_plan', name);
    END LOOP;
END
$$;
