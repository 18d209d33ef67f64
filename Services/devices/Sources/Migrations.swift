import Postgres

/// The migrations that are embedded in the binary, which cannot list its own resources.
enum Migrations {
    static let all = [
        PostgresMigration(
            number: 1, name: "init", up: PackageResources._001_init_up_sql, down: PackageResources._001_init_down_sql),
        PostgresMigration(
            number: 2, name: "feed_read_at", up: PackageResources._002_feed_read_at_up_sql,
            down: PackageResources._002_feed_read_at_down_sql),
        PostgresMigration(
            number: 3, name: "session_check", up: PackageResources._003_session_check_up_sql,
            down: PackageResources._003_session_check_down_sql),
        PostgresMigration(
            number: 4, name: "token_owners", up: PackageResources._004_token_owners_up_sql,
            down: PackageResources._004_token_owners_down_sql),
        PostgresMigration(
            number: 5, name: "push", up: PackageResources._005_push_up_sql,
            down: PackageResources._005_push_down_sql),
        PostgresMigration(
            number: 6, name: "push_channels", up: PackageResources._006_push_channels_up_sql,
            down: PackageResources._006_push_channels_down_sql),
        PostgresMigration(
            number: 7, name: "segments", up: PackageResources._007_segments_up_sql,
            down: PackageResources._007_segments_down_sql),
        PostgresMigration(
            number: 8, name: "plans", up: PackageResources._008_plans_up_sql,
            down: PackageResources._008_plans_down_sql),
        PostgresMigration(
            number: 9, name: "last_seen", up: PackageResources._009_last_seen_up_sql,
            down: PackageResources._009_last_seen_down_sql),
        PostgresMigration(
            number: 10, name: "target_check", up: PackageResources._010_target_check_up_sql,
            down: PackageResources._010_target_check_down_sql),
        PostgresMigration(
            number: 11, name: "device_check", up: PackageResources._011_device_check_up_sql,
            down: PackageResources._011_device_check_down_sql),
        PostgresMigration(
            number: 12, name: "queue", up: PackageResources._012_queue_up_sql,
            down: PackageResources._012_queue_down_sql),
        PostgresMigration(
            number: 13, name: "claims", up: PackageResources._013_claims_up_sql,
            down: PackageResources._013_claims_down_sql),
        PostgresMigration(
            number: 14, name: "bounds", up: PackageResources._014_bounds_up_sql,
            down: PackageResources._014_bounds_down_sql),
        PostgresMigration(
            number: 15, name: "alerts_allowed", up: PackageResources._015_alerts_allowed_up_sql,
            down: PackageResources._015_alerts_allowed_down_sql),
    ]
}
