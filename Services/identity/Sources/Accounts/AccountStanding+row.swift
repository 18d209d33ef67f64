import Postgres

extension AccountStanding {
    /// - Parameter row: `state`, `version`, `credentials_version`.
    init(row: PostgresRow) throws {
        let (state, version, credentialsVersion) = try row.decode((String, Int64, Int64).self)
        self.init(state: try AccountState.read(state), version: version, credentialsVersion: credentialsVersion)
    }
}
