/// Who did it.
enum AuditActor: String, Sendable {
    case user, `operator`, apple, system
    /// Somebody who did not prove who they are.
    case unknown
}
