package import GatehouseServiceContracts

/// The name of a kind of credential, as rows hold it. Each kind declares its own beside its type.
package struct CredentialKindID: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// A kind and its provider, of which a user may have several credentials.
package struct CredentialName: Hashable, Sendable {
    package var kind: CredentialKindID
    /// Empty where the kind has no providers.
    var provider: String

    package init(_ kind: CredentialKindID, provider: String = "") {
        self.kind = kind
        self.provider = provider
    }

    /// - Parameter stored: the kind, a colon, and the provider.
    init(stored: String) {
        let parts = stored.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        kind = CredentialKindID(rawValue: String(parts[0]))
        provider = parts.count == 2 ? String(parts[1]) : ""
    }

    /// The name by which the app knows it.
    package var authProvider: AuthProvider { AuthProvider(rawValue: provider.isEmpty ? kind.rawValue : provider) }
}
