DROP VIEW owned_devices;
DROP TABLE push_outcome_head, push_outcome_log, pending_push_outcomes, push_channels, push_user_days, push_rates,
    push_slices, push_targets, pushes, revocation_feed, revoked_sessions, security_events, erased_users, user_tags,
    push_token_days, devices, push_token_owners;
DROP TYPE push_target_row, push_claim, push_segment CASCADE;
DROP SEQUENCE push_token_epochs;
