import Foundation

/// When the user of a session last proved who they are, and how.
struct SessionAuthentication: Sendable, Equatable {
    /// By PostgreSQL's clock.
    var time: Date
    /// As in the claim `amr`; empty where it is not known.
    var methods: [String]
}

extension SessionAuthentication {
    /// The columns of `session`. A session without a time of its own was proved when it was made.
    static let columns =
        "COALESCE(session.authenticated_at, session.created_at), session.authentication_methods"
}
