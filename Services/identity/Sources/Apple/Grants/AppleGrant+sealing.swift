import Foundation
import Sealing

extension AppleGrant {
    /// What a ``Sealer`` of grants and of Apple's refresh tokens is for.
    static let sealingPurpose = "gatehouse identity sealing"

    /// Binds a sealed refresh token to its user.
    static func context(ofUser userID: UUID) -> String {
        "apple refresh token of \(userID.uuidString)"
    }

    /// Sealed for one task of the outbox.
    func sealed(by sealer: Sealer, for taskID: UUID) throws -> Data {
        try sealer.seal(JSONEncoder().encode(self), context: "apple grant of \(taskID.uuidString)")
    }

    /// - Returns: `nil` when there is none, or it was sealed for another task or under a key that is gone.
    static func open(_ sealed: Data?, for taskID: UUID, by sealer: Sealer) -> AppleGrant? {
        sealed.flatMap { sealer.open($0, context: "apple grant of \(taskID.uuidString)") }
            .flatMap { try? JSONDecoder().decode(AppleGrant.self, from: $0) }
    }
}
