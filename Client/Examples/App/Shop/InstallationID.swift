import Foundation
import Security

/// An id that is created once on each device, by which the server recognizes the device. It is not secret.
///
/// It is in the Keychain, because UserDefaults read as empty until the device has been unlocked once. An app that the
/// system prewarms before that would create a new id and overwrite the first.
enum InstallationID {
    /// - Returns: `nil` if the Keychain cannot be read now. The stored id stays, and the next process reads again.
    static func read() -> String? {
        let query = item.merging([kSecReturnData as String: true]) { _, new in new }
        var found: CFTypeRef?
        switch SecItemCopyMatching(query as CFDictionary, &found) {
        case errSecSuccess: return (found as? Data).map { String(decoding: $0, as: UTF8.self) }
        case errSecItemNotFound: return choose()
        default: return nil
        }
    }

    private static func choose() -> String? {
        let new = UUID().uuidString
        let values: [String: Any] = [
            kSecValueData as String: Data(new.utf8),
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String,
        ]
        let status = SecItemAdd(item.merging(values) { _, new in new } as CFDictionary, nil)
        return status == errSecSuccess ? new : nil
    }

    private static var item: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "shop",
            kSecAttrAccount as String: "installation", kSecUseDataProtectionKeychain as String: true,
        ]
    }
}
