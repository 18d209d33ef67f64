/// All that is wrong with a service's settings.
public struct SettingsError: Error, Sendable, CustomStringConvertible {
    /// One setting and what is wrong with it.
    public struct Problem: Sendable, Equatable {
        /// The name in the environment, with the key in the file where there is one.
        public let name: String
        public let message: String
    }

    public let service: String
    public let problems: [Problem]

    /// One line for each problem. Secrets stand in none.
    public var description: String {
        problems.map { "\(service): \($0.name) \($0.message)" }.joined(separator: "\n")
    }
}
