import GatehouseBytes
public import GatehouseSettings

/// The credentials of a service's callers: one for each caller, or two while one is being replaced.
public struct CallerCredentials: Sendable {
    private let accepted: [(caller: String, credential: [UInt8])]

    /// - Parameter callers: the credentials of each caller by its name.
    public init(_ callers: [String: [String]]) {
        accepted = callers.sorted { $0.key < $1.key }.flatMap { caller, credentials in
            credentials.map { (caller, Array($0.utf8)) }
        }
    }

    /// These credentials and those of other callers.
    public func adding(_ others: CallerCredentials) -> CallerCredentials {
        CallerCredentials(accepted: accepted + others.accepted)
    }

    private init(accepted: [(caller: String, credential: [UInt8])]) {
        self.accepted = accepted
    }

    /// The caller with this credential. The time does not depend on which credential matches: each is compared in
    /// constant time.
    public func caller(presenting credential: String) -> String? {
        var credential = credential
        return credential.withUTF8 { presented in
            var found: String?
            for entry in accepted where constantTimeEqual(entry.credential, presented) {
                found = entry.caller
            }
            return found
        }
    }
}

extension CallerCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Omits the credentials, which must not be logged.
    public var description: String { "CallerCredentials(callers: \(Set(accepted.map(\.caller)).sorted()))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["callers": Set(accepted.map(\.caller)).sorted()]) }
}

extension Settings {
    /// The credentials that this service accepts from each of `callers`:
    /// `TOKENS_GATEWAY_CREDENTIALS` for tokens' caller `gateway`, one or two, separated by commas.
    ///
    /// - Parameter optional: callers that an installation may omit. A caller without a credential is never accepted.
    public func credentials(ofCallers callers: String..., optional: [String] = []) -> CallerCredentials {
        credentials(callers, optional: optional.map { ($0, "`\($0)`") })
    }

    /// The same, for callers that `<service> describe` explains.
    ///
    /// - Parameter optional: callers that an installation may omit, and what they are, as in "readers of the event
    ///   feed".
    public func credentials(
        ofCallers callers: String..., optional: KeyValuePairs<String, String>
    ) -> CallerCredentials {
        credentials(callers, optional: Array(optional))
    }

    private func credentials(
        _ callers: [String], optional: [(key: String, value: String)]
    ) -> CallerCredentials {
        var credentials: [String: [String]] = [:]
        for caller in callers {
            credentials[caller] = checked(
                secrets("\(caller)Credentials", "credential of `\(caller)`, or two while it is replaced"), of: caller)
        }
        for (caller, description) in optional {
            let meaning = "credential of \(description), or two while it is replaced. Without it they are refused"
            credentials[caller] = checked(optionalSecrets("\(caller)Credentials", meaning), of: caller)
        }
        let all = credentials.values.flatMap(\.self)
        if Set(all).count < all.count {
            problem("\(callers[0])Credentials", "must not be shared with another caller")
        }
        return CallerCredentials(credentials)
    }

    private func checked(_ values: [String], of caller: String) -> [String] {
        let key = "\(caller)Credentials"
        if values.count > 2 { problem(key, "must hold one credential, or two while one is being replaced") }
        if values.contains(where: { $0.utf8.count < 8 }) { problem(key, "must be at least 8 characters long") }
        return values
    }
}
