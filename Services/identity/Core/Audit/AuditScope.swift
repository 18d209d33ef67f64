package import Foundation
import GatehouseServiceContracts

/// The actor and origin for the audit log. The scope is set once for a request or command, and read where an entry is
/// written, so that the functions in between need not pass it on.
package struct AuditScope: Sendable {
    @TaskLocal package static var current: AuditScope?

    /// The signed-in user.
    var userID: UUID?
    /// The actor where it is not a user: an operator's name on the machine, for example.
    package var name: String?
    var origin: AuditOrigin?
    /// The attempt of the request. All copies of the scope share it.
    let attempt = AuditedAttempt()

    package init(userID: UUID? = nil, name: String? = nil, origin: AuditOrigin? = nil) {
        self.userID = userID
        self.name = name
        self.origin = origin
    }

    /// The same scope with the device as the app describes it.
    func on(_ device: SessionDevice?) -> AuditScope {
        guard let device else { return self }
        var scope = self
        scope.origin = AuditOrigin(
            address: origin?.address, userAgent: origin?.userAgent, device: device.name ?? device.model,
            appVersion: device.appVersion)
        return scope
    }
}
