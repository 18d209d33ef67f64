public import Foundation

/// The response of `/livez` and `/readyz`, unless it is a problem.
public struct ServiceHealth: Codable, Sendable, Equatable {
    /// For people. Programs use the status of the response.
    public var status: String
    /// The version of Gatehouse, at `/readyz`.
    public var version: String?
    /// The commit that its image was built from.
    public var revision: String?
    /// When the process started.
    public var startedAt: Date?

    public init(status: String, version: String? = nil, revision: String? = nil, startedAt: Date? = nil) {
        self.status = status
        self.version = version
        self.revision = revision
        self.startedAt = startedAt
    }
}
