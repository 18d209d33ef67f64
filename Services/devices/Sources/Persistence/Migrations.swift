public import Postgres

/// The steps that make the database of devices. Embedded files cannot be enumerated, so they are listed here.
public enum DevicesMigrations {
    public static let all = [
        PostgresMigration(
            number: 1, name: "init", up: PackageResources._001_init_up_sql, down: PackageResources._001_init_down_sql)
    ]
}
