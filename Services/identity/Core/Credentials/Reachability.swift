// Pure: no I/O, no clock.

/// Decides whether a user can sign in to an account with what is offered now. A credential that is no longer accepted
/// does not count.
package struct Reachability: Sendable, Equatable {
    /// What an account needs, so that a kind of credential opens it.
    package enum Requirement: Sendable, Equatable {
        /// The credential alone.
        case credential
        /// The credential, and an identifier to find the account by.
        case credentialAndIdentifier
        /// A verified identifier of one of the kinds, at which the user receives messages.
        case verifiedIdentifier(Set<Identifier.Kind>)
    }

    /// The kinds that are offered, and what each requires.
    var requirements: [CredentialKindID: Requirement]

    /// The same without what identifiers alone open.
    var byCredentials: Reachability {
        Reachability(
            requirements: requirements.filter {
                if case .verifiedIdentifier = $0.value { false } else { true }
            })
    }

    /// - Parameter removed: credentials that do not count.
    package func opens(_ account: Account, without removed: CredentialName? = nil) -> Bool {
        requirements.contains { kind, requirement in
            let exists = account.credentials.contains { $0.kind == kind && $0 != removed }
            return switch requirement {
            case .credential: exists
            case .credentialAndIdentifier: exists && account.hasIdentifier
            case .verifiedIdentifier(let kinds): Self.isVerified(kinds, account)
            }
        }
    }

    private static func isVerified(_ kinds: Set<Identifier.Kind>, _ account: Account) -> Bool {
        // Apple forwards mail to such an address only while the app is linked.
        let isRelayed = account.email.map(EmailAddress.isRelay) == true
        return kinds.contains(.email) && account.emailVerified && !isRelayed
            || kinds.contains(.phone) && account.phoneVerified
    }
}
