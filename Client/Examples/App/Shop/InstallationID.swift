import Foundation
import Security

/// Chosen once on each device, by which the server knows it again. It is no secret.
///
/// It is in the Keychain. UserDefaults read as if they were empty until the device has been unlocked once: an app that the
/// system warms up before that would choose another one, and write it over the first.
enum InstallationID {
    /// - Returns: `nil` where the Keychain cannot be read now. The next process asks again; what is there stays.
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
