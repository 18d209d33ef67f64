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
            PostgresSQLFile(name: "push_channels", script: PackageResources.push_channels_sql),
            PostgresSQLFile(name: "push_limits", script: PackageResources.push_limits_sql),
            PostgresSQLFile(name: "push_outcome_feed", script: PackageResources.push_outcome_feed_sql),
            PostgresSQLFile(name: "push_targets", script: PackageResources.push_targets_sql),
            PostgresSQLFile(name: "pushes", script: PackageResources.pushes_sql),
            PostgresSQLFile(name: "registrations", script: PackageResources.registrations_sql),
            PostgresSQLFile(name: "revoked_sessions", script: PackageResources.revoked_sessions_sql),
            PostgresSQLFile(name: "segments", script: PackageResources.segments_sql),
        ],
        replacement: """
            Create a new database, together with identity's, and run `devices migrate up` there. Devices and pushes are \
            not carried over: apps register again when their users sign in.
            """)
}
