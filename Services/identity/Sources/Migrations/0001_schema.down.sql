DROP TABLE deleted_users, audit_counts_progress, audit_counts, audit_seals, audit_head, audit_log,
    pending_audit_entries, audit_origins, audit_entries, revocation_feed, webhooks, outbox, known_networks,
    known_devices, lost_identifiers, identifier_changes, password_resets, code_repeats, codes, apple_transfers,
    mail_forwarding, apple_notifications, used_nonces, apple_identities, passwords, credentials, identifiers, users;
