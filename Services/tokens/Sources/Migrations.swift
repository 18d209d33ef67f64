import Postgres

/// The migrations that are embedded in the binary, which cannot list its own resources.
enum Migrations {
    static let all = [
        PostgresMigration(
            number: 1, name: "sessions", up: PackageResources._001_sessions_up_sql,
            down: PackageResources._001_sessions_down_sql),
        PostgresMigration(
            number: 2, name: "sweeps", up: PackageResources._002_sweeps_up_sql,
            down: PackageResources._002_sweeps_down_sql),
        PostgresMigration(
            number: 3, name: "epoch", up: PackageResources._003_epoch_up_sql,
            down: PackageResources._003_epoch_down_sql),
        PostgresMigration(
            number: 4, name: "origin", up: PackageResources._004_origin_up_sql,
            down: PackageResources._004_origin_down_sql),
        PostgresMigration(
            number: 5, name: "authentication", up: PackageResources._005_authentication_up_sql,
            down: PackageResources._005_authentication_down_sql),
        PostgresMigration(
            number: 6, name: "stamped_feed", up: PackageResources._006_stamped_feed_up_sql,
            down: PackageResources._006_stamped_feed_down_sql),
        PostgresMigration(
            number: 7, name: "expiry_day", up: PackageResources._007_expiry_day_up_sql,
            down: PackageResources._007_expiry_day_down_sql),
        PostgresMigration(
            number: 8, name: "buckets", up: PackageResources._008_buckets_up_sql,
            down: PackageResources._008_buckets_down_sql),
        PostgresMigration(
            number: 9, name: "plans", up: PackageResources._009_plans_up_sql,
            down: PackageResources._009_plans_down_sql),
    ]
}
