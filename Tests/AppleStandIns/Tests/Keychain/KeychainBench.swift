import Dispatch
import Foundation
import Security
import Testing

@testable import GatehouseClient

/// A device with an app, and views of its state for tests.
struct KeychainBench {
    static let service = "com.example.app.gatehouse"
    static let own = "TEAM.com.example.app"
    static let shared = "TEAM.shared"

    let device: SimulatedDevice
    let app: SimulatedApp
    /// The app's container. A test that writes to it removes it.
    let container = FileManager.default.temporaryDirectory
        .appendingPathComponent("keychain-\(UUID().uuidString)", isDirectory: true)

    init(isMac: Bool = false) {
        device = SimulatedDevice(isMac: isMac)
        app = SimulatedApp(on: device, accessGroups: [Self.own, Self.shared])
    }

    var groupContainer: URL { container.appendingPathComponent("group", isDirectory: true) }

    func remove() { try? FileManager.default.removeItem(at: container) }

    /// A store in a new process of this app, or of another.
    func store(
        of app: SimulatedApp? = nil, group: String? = nil, lock policy: UnlockPolicy = .notRequired,
        afterReinstall: KeychainTokenStore.Options.AfterReinstall = .keep,
        reading read: @escaping @Sendable (URL) throws -> Data = { try Data(contentsOf: $0) }
    ) -> KeychainTokenStore {
        let options = KeychainTokenStore.Options(
            service: Self.service,
            scope: group.map { .appGroup(accessGroup: $0, container: groupContainer) } ?? .app(container: container),
            unlockPolicy: policy, afterReinstall: afterReinstall)
        let app = app ?? self.app
        let installation = KeychainInstallation(
            file: options.file("installed"), earlierFile: app.accessGroups == self.app.accessGroups ? mark : nil,
            read: read)
        return KeychainTokenStore(
            options.keychainAccount, KeychainVault(options, installation: installation), lock: options.lock,
            queue: app.queue(), dialogs: app.queue())
    }

    var mark: URL { container.appendingPathComponent("\(Self.service).session.installed") }

    /// Calls Security on the app's queue.
    func call<Value>(as app: SimulatedApp? = nil, _ body: () -> Value) -> Value {
        (app ?? self.app).queue().sync(execute: body)
    }

    /// Adds the session's item with the attributes of an earlier version.
    @discardableResult
    func add(_ data: Data, _ attributes: [CFString: Any] = [:], as app: SimulatedApp? = nil) -> OSStatus {
        var item = Self.item
        item[kSecValueData as String] = data
        for (key, value) in attributes { item[key as String] = value }
        return call(as: app) { SecItemAdd(item as CFDictionary, nil) }
    }

    /// The attributes and the count of the app's items whose service begins with the session's.
    func items(as app: SimulatedApp? = nil) -> [[String: Any]] {
        let query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrSynchronizable as String: kSecAttrSynchronizableAny,
            kSecUseDataProtectionKeychain as String: true, kSecReturnAttributes as String: true,
            kSecMatchLimit as String: kSecMatchLimitAll,
        ]
        return call(as: app) {
            var result: CFTypeRef?
            _ = SecItemCopyMatching(query as CFDictionary, &result)
            return result as? [[String: Any]] ?? []
        }
    }

    /// The session's item, read without user authentication.
    func rawValue() -> Data? {
        var query = Self.item
        query[kSecReturnData as String] = true
        return call {
            var result: CFTypeRef?
            _ = SecItemCopyMatching(query as CFDictionary, &result)
            return result as? Data
        }
    }

    static var item: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
            kSecAttrAccount as String: "session", kSecUseDataProtectionKeychain as String: true,
        ]
    }
}

extension Data {
    static let first = Data("{\"first\":1}".utf8)
    static let second = Data("{\"second\":2}".utf8)
}

/// The error's code. Records a failure if no error is thrown.
func code(_ body: () async throws(TokenStoreError) -> some Sendable) async -> TokenStoreError.Code? {
    do throws(TokenStoreError) {
        _ = try await body()
        Issue.record("no error")
        return nil
    } catch {
        return error.code
    }
}
