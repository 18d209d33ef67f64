import Postgres

/// The migrations that are embedded in the binary, which cannot list its own resources.
enum Migrations {
    static let all = PostgresMigrations(
        steps: [
            PostgresMigration(
                number: 1, name: "schema", up: PackageResources._001_schema_up_sql,
                down: PackageResources._001_schema_down_sql)
        ],
        files: [
            PostgresSQLFile(name: "audit_entries", script: PackageResources.audit_entries_sql),
            PostgresSQLFile(name: "audit_log", script: PackageResources.audit_log_sql),
        ],
        replacement: """
            Export its users with the version that runs (`identity users export --password-hashes`), create a new \
            database, and import them there with this version (`identity migrate up`, `identity users import`). The \
            audit log is not carried over.
            """)
}
