import Postgres

/// The migrations that are embedded in the binary, which cannot list its own resources.
enum Migrations {
    static let all = [
        PostgresMigration(
            number: 1, name: "schema", up: PackageResources._001_schema_up_sql,
            down: PackageResources._001_schema_down_sql)
    ]
}
