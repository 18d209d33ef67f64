/// The schema of a program's database: numbered steps, and SQL files that follow them.
public struct PostgresMigrations: Sendable, Equatable {
    /// In the order of their numbers.
    public let steps: [PostgresMigration]
    /// In the order in which they run. A function in SQL follows the functions that it calls.
    public let files: [PostgresSQLFile]
    /// What an operator does with a database whose steps were numbered before these. The error of such a database ends
    /// with it.
    public let replacement: String

    /// Takes the steps in any order.
    public init(steps: [PostgresMigration] = [], files: [PostgresSQLFile] = [], replacement: String = "") {
        self.steps = steps.sorted { $0.number < $1.number }
        self.files = files
        self.replacement = replacement
    }
}
