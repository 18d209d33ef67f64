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
            PostgresSQLFile(name: "buckets", script: PackageResources.buckets_sql),
            PostgresSQLFile(name: "revocation_feed", script: PackageResources.revocation_feed_sql),
            PostgresSQLFile(name: "sessions", script: PackageResources.sessions_sql),
        ],
        replacement: """
            Create a new database, together with identity's, and run `tokens migrate up` there. Sessions are not carried \
            over: users sign in again.
            """)
}
