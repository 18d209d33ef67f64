#if canImport(Security)
    import CryptoKit
    import Foundation
    import LocalAuthentication
    import Security

    /// Keys that decrypt sealed sessions. Each is in an item that only the user's authentication unlocks (Apple:
    /// "Accessing Keychain Items with Face ID or Touch ID"). Usually there is one.
    struct KeychainUnlockKeys: Sendable {
        let service: String
        let accessGroup: String?

        struct Found {
            var key: SymmetricKey
            /// Whether the key is in the group of this configuration, not of an earlier one.
            var isCurrent: Bool
        }

        func add(_ key: SymmetricKey, id: UUID, for policy: UnlockPolicy) throws(TokenStoreError) {
            guard let flags = policy.accessControl,
                let access = SecAccessControlCreateWithFlags(
                    nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, flags, nil)
            else { throw TokenStoreError(.failed, "no access control") }
            var item = query(id)
            item[kSecAttrAccessGroup as String] = accessGroup
            item[kSecAttrAccessControl as String] = access
            item[kSecValueData as String] = key.withUnsafeBytes { Data($0) }
            let status = SecItemAdd(item as CFDictionary, nil)
            guard status == errSecSuccess else { throw TokenStoreError(status: status) }
        }

        /// Shows the system's dialog and waits for the user. Returns `nil` if the key no longer exists.
        func read(_ id: UUID, by policy: UnlockPolicy, reason: String) throws(TokenStoreError) -> Found? {
            let context = policy.context(reason: reason)
            if let accessGroup {
                if let key = try copy(id, from: accessGroup, context) { return Found(key: key, isCurrent: true) }
                // The key may be in the group of an earlier configuration. Keys move with the session.
                return try copy(id, from: nil, context).map { Found(key: $0, isCurrent: false) }
            }
            return try copy(id, from: nil, context).map { Found(key: $0, isCurrent: true) }
        }

        /// - Parameter accessGroup: `nil` for any of the app's groups.
        private func copy(
            _ id: UUID, from accessGroup: String?, _ context: LAContext
        ) throws(TokenStoreError) -> SymmetricKey? {
            var query = query(id)
            query[kSecAttrAccessGroup as String] = accessGroup
            query[kSecUseAuthenticationContext as String] = context
            query[kSecReturnData as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var result: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            switch status {
            case errSecSuccess:
                guard let data = result as? Data, data.count == 32 else {
                    throw TokenStoreError(.corrupt, "a key without a value")
                }
                return SymmetricKey(data: data)
            case errSecItemNotFound: return nil
            case errSecUserCanceled: throw TokenStoreError(.userPresenceRefused, "OSStatus \(status)")
            // Some systems report this also for a key that a change of the enrolment has invalidated.
            case errSecAuthFailed: throw TokenStoreError(.userPresenceFailed, "OSStatus \(status)")
            // The system shows no dialog in the background. The device is not locked, because the session's item could
            // be read.
            case errSecInteractionNotAllowed: throw TokenStoreError(.userPresenceNeeded, "no dialog can be shown")
            default: throw TokenStoreError(status: status)
            }
        }

        /// Deletes the key in all of the app's groups.
        func delete(_ id: UUID) throws(TokenStoreError) { try delete(query(id)) }

        func deleteAll() throws(TokenStoreError) { try delete(query(nil)) }

        private func delete(_ query: [String: Any]) throws(TokenStoreError) {
            let status = SecItemDelete(query as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else { throw TokenStoreError(status: status) }
        }

        private func query(_ id: UUID?) -> [String: Any] {
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                kSecUseDataProtectionKeychain as String: true,
            ]
            query[kSecAttrAccount as String] = id?.uuidString
            return query
        }
    }
#endif
