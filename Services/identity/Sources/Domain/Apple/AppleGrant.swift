import Foundation

/// What Apple has granted for a user and is to be told back when the user goes.
struct AppleGrant: Codable, Sendable, Equatable {
    enum Kind: String, Codable, Sendable {
        case refreshToken
        /// Single-use, and good for five minutes.
        case authorizationCode
    }

    /// Seconds.
    static let codeLifetime: TimeInterval = 300

    /// The app's identifier that it was granted to.
    var clientID: String
    var kind: Kind
    var secret: String

    /// Binds a sealed refresh token to its user.
    static func context(ofUser userID: UUID) -> String {
        "apple refresh token of \(userID.uuidString)"
    }

    func sealed(by sealer: Sealer, for jobID: UUID) throws -> Data {
        try sealer.seal(JSONEncoder().encode(self), context: "apple grant of \(jobID.uuidString)")
    }

    static func open(_ sealed: Data?, for jobID: UUID, by sealer: Sealer) -> AppleGrant? {
        sealed.flatMap { sealer.open($0, context: "apple grant of \(jobID.uuidString)") }
            .flatMap { try? JSONDecoder().decode(AppleGrant.self, from: $0) }
    }
}
