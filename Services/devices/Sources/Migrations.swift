public import Postgres

/// The migrations of the devices database. Embedded files cannot be enumerated, so they are listed here.
public enum DevicesMigrations {
    public static let all = [
        PostgresMigration(
            number: 1, name: "init", up: PackageResources._001_init_up_sql, down: PackageResources._001_init_down_sql),
        PostgresMigration(
            number: 2, name: "feed_read_at", up: PackageResources._002_feed_read_at_up_sql,
            down: PackageResources._002_feed_read_at_down_sql),
    ]
}
