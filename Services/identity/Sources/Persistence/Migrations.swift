import Postgres

/// The migrations that are embedded in the binary, which cannot list its own resources.
enum Migrations {
    static let all = [
        PostgresMigration(
            number: 1, name: "accounts", up: PackageResources._001_accounts_up_sql,
            down: PackageResources._001_accounts_down_sql),
        PostgresMigration(
            number: 2, name: "known_devices", up: PackageResources._002_known_devices_up_sql,
            down: PackageResources._002_known_devices_down_sql),
        PostgresMigration(
            number: 3, name: "apple_consent", up: PackageResources._003_apple_consent_up_sql,
            down: PackageResources._003_apple_consent_down_sql),
        PostgresMigration(
            number: 4, name: "audit_age",
            indexes: PackageResources._004_audit_age_indexes_sql, up: PackageResources._004_audit_age_up_sql,
            down: PackageResources._004_audit_age_down_sql),
        PostgresMigration(
            number: 5, name: "apple_mail", up: PackageResources._005_apple_mail_up_sql,
            down: PackageResources._005_apple_mail_down_sql),
        PostgresMigration(
            number: 6, name: "apple_transfers", up: PackageResources._006_apple_transfers_up_sql,
            down: PackageResources._006_apple_transfers_down_sql),
        PostgresMigration(
            number: 7, name: "codes", up: PackageResources._007_codes_up_sql,
            down: PackageResources._007_codes_down_sql),
        PostgresMigration(
            number: 8, name: "audit_entries", up: PackageResources._008_audit_entries_up_sql,
            down: PackageResources._008_audit_entries_down_sql),
        PostgresMigration(
            number: 9, name: "events", up: PackageResources._009_events_up_sql,
            down: PackageResources._009_events_down_sql),
        PostgresMigration(
            number: 10, name: "lost_identifiers", up: PackageResources._010_lost_identifiers_up_sql,
            down: PackageResources._010_lost_identifiers_down_sql),
        PostgresMigration(
            number: 11, name: "identifier_changes", up: PackageResources._011_identifier_changes_up_sql,
            down: PackageResources._011_identifier_changes_down_sql),
        PostgresMigration(
            number: 12, name: "administration",
            indexes: PackageResources._012_administration_indexes_sql, up: PackageResources._012_administration_up_sql,
            down: PackageResources._012_administration_down_sql),
        PostgresMigration(
            number: 13, name: "session_ends",
            indexes: PackageResources._013_session_ends_indexes_sql, up: PackageResources._013_session_ends_up_sql,
            down: PackageResources._013_session_ends_down_sql),
        PostgresMigration(
            number: 14, name: "known_networks", up: PackageResources._014_known_networks_up_sql,
            down: PackageResources._014_known_networks_down_sql),
        PostgresMigration(
            number: 15, name: "credential_origins", up: PackageResources._015_credential_origins_up_sql,
            down: PackageResources._015_credential_origins_down_sql),
        PostgresMigration(
            number: 16, name: "audit_counts", up: PackageResources._016_audit_counts_up_sql,
            down: PackageResources._016_audit_counts_down_sql),
        PostgresMigration(
            number: 17, name: "devices_since", up: PackageResources._017_devices_since_up_sql,
            down: PackageResources._017_devices_since_down_sql),
        PostgresMigration(
            number: 18, name: "code_repeats", up: PackageResources._018_code_repeats_up_sql,
            down: PackageResources._018_code_repeats_down_sql),
        PostgresMigration(
            number: 19, name: "deleted_users", up: PackageResources._019_deleted_users_up_sql,
            down: PackageResources._019_deleted_users_down_sql),
        PostgresMigration(
            number: 20, name: "audit_order", up: PackageResources._020_audit_order_up_sql,
            down: PackageResources._020_audit_order_down_sql),
        PostgresMigration(
            number: 21, name: "stamp_without_jit", up: PackageResources._021_stamp_without_jit_up_sql,
            down: PackageResources._021_stamp_without_jit_down_sql),
    ]
}
