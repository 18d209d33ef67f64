DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY '{
        session_is_live, bar_session, detach_session, own_push_token, register_device,
        remove_void_device, add_push_targets, claim_push_target, change_registration,
        record_push_outcome, keep_device_liveness, cancel_push_targets, replay_push_targets,
        count_push_targets, list_push_targets, erase_push_targets, due_push_targets,
        count_waiting_push_targets, count_push, reconcile_push_channels, count_devices,
        segment_devices, count_segment, move_push_slice, add_push_outcome, space_push_targets,
        add_spaced_push_targets, push_buckets}'::text[]
    LOOP
        EXECUTE format('ALTER FUNCTION %I SET plan_cache_mode = force_generic_plan', name);
    END LOOP;
END
$$;
