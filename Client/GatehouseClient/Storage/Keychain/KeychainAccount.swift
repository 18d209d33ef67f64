#if canImport(Security)
    /// A session's place in the Keychain (`kSecAttrService`, `kSecAttrAccount`).
    struct KeychainAccount: Hashable, Sendable {
        let service: String
        let account: String
    }

    /// A client's use of an account in this process. An account holds the session of one server, so clients of two
    /// servers would replace each other's sessions.
    final class KeychainAccountUse: Sendable {
        private static let uses = Locked<[KeychainAccount: (origin: String, count: Int)]>([:])

        private let account: KeychainAccount

        /// - Parameter origin: the server.
        /// - Throws: `misuse` while a client of another server uses the account.
        init(of account: KeychainAccount, for origin: String) throws(GatehouseError) {
            let use = Self.uses.withLock { uses in
                let use = uses[account] ?? (origin, 0)
                if use.origin == origin { uses[account] = (origin, use.count + 1) }
                return use
            }
            guard use.origin == origin else {
                throw GatehouseError(
                    .misuse,
                    reason: """
                        a client of \(use.origin) uses the Keychain account "\(account.account)" of the service \
                        "\(account.service)"; give each server's KeychainTokenStore an account of its own
                        """)
            }
            // Last: `deinit` runs for a thrown error only if all properties are set.
            self.account = account
        }

        deinit {
            Self.uses.withLock { uses in
                guard let use = uses[account] else { return }
                uses[account] = use.count > 1 ? (use.origin, use.count - 1) : nil
            }
        }
    }
#endif
