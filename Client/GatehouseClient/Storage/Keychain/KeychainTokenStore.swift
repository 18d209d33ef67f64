#if canImport(Security)
    import Dispatch
    public import Foundation

    /// Keeps a session in the Keychain as a generic password (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`). The
    /// app can read it after the device's first unlock, also in the background. Backups of this device do not restore
    /// it to another device.
    ///
    /// The store throws `deviceLocked` until the device has been unlocked once after it started, for example when the
    /// system prewarms an app. A Keychain that cannot be read is not an empty one. On a Mac the app needs an
    /// entitlement for the data protection Keychain (`keychain-access-groups`, or an application identifier). Programs
    /// without one use `FileTokenStore`.
    public actor KeychainTokenStore: TokenStore {
        /// The queue of an operation. Functions of Security wait for another process, and dialogs wait for the user.
        /// Neither may block one of Swift's threads.
        private enum QueueKind {
            case operations
            case dialogs
        }

        nonisolated let account: KeychainAccount
        private let vault: KeychainVault
        private let processLock: FileLock?
        private let queue: DispatchQueue
        private let dialogs: DispatchQueue
        /// The last operation of each queue. Operations of a queue run in order, so the last save wins, and each sees
        /// what earlier ones have added to the memory.
        private var last: [QueueKind: Task<Void, Never>] = [:]
        private var memory = KeychainMemory()

        public init(_ options: Options = Options()) {
            self.init(
                options.keychainAccount, KeychainVault(options), lock: options.lock,
                queue: DispatchQueue(label: "gatehouse.keychain"),
                dialogs: DispatchQueue(label: "gatehouse.keychain.dialogs"))
        }

        init(
            _ account: KeychainAccount, _ vault: KeychainVault, lock: FileLock?, queue: DispatchQueue,
            dialogs: DispatchQueue
        ) {
            self.account = account
            self.vault = vault
            processLock = lock
            self.queue = queue
            self.dialogs = dialogs
        }

        public func load() async throws(TokenStoreError) -> Data? {
            try await run(.operations) { vault, memory throws(TokenStoreError) in try vault.load(&memory) }
        }

        public func save(_ data: Data) async throws(TokenStoreError) {
            try await run(.operations) { vault, memory throws(TokenStoreError) in try vault.save(data, &memory) }
        }

        /// Deletes the stored session. A missing item is not an error. The server is not informed.
        public func delete() async throws(TokenStoreError) {
            try await run(.operations) { vault, memory throws(TokenStoreError) in try vault.delete(&memory) }
        }

        public func unlock(reason: String) async throws(TokenStoreError) {
            try await run(.dialogs) { vault, memory throws(TokenStoreError) in
                try vault.unlock(reason: reason, &memory)
            }
        }

        public func isSignOutPending() async throws(TokenStoreError) -> Bool {
            try await run(.operations) { vault, _ in vault.signOut.isPending }
        }

        public func setSignOutPending(_ isPending: Bool) async throws(TokenStoreError) {
            try await run(.operations) { vault, _ throws(TokenStoreError) in try vault.signOut.set(isPending) }
        }

        /// A session that requires Face ID or Touch ID cannot be read without the user, so it is discarded unread.
        public func takeDiscarded() async -> Data? { memory.takeDiscarded() }

        /// If an app group shares the session, waits for a lock in its container, for at most 20 seconds. After that,
        /// or if locking is not possible, `body` runs without the lock.
        public nonisolated func withExclusiveAccess<Value: Sendable>(
            _ body: @Sendable () async throws -> Value
        ) async throws -> Value {
            guard let processLock else { return try await body() }
            return try await processLock.withLock(body)
        }

        public nonisolated var requiresUserPresence: Bool { vault.isSealed.withLock { $0 } }

        /// The user's choice, or the one in the options. If it cannot be read, the latter.
        public nonisolated var unlockPolicy: UnlockPolicy { (try? vault.policy.current) ?? vault.policy.initial }

        public func authenticate(toSet policy: UnlockPolicy, reason: String) async throws(TokenStoreError) {
            try await run(.dialogs) { vault, _ throws(TokenStoreError) in
                try vault.authenticate(toSet: policy, reason: reason)
            }
        }

        public func setUnlockPolicy(_ policy: UnlockPolicy) async throws(TokenStoreError) {
            try await run(.operations) { vault, memory throws(TokenStoreError) in
                try vault.setPolicy(policy, &memory)
            }
        }

        public func lock() async {
            // Operations that began earlier would bring their keys back.
            _ = try? await run(.dialogs) { _, _ in }
            _ = try? await run(.operations) { _, memory in memory.forgetKeys() }
        }

        private func run<Value: Sendable>(
            _ kind: QueueKind,
            _ body: @escaping @Sendable (KeychainVault, inout KeychainMemory) throws(TokenStoreError) -> Value
        ) async throws(TokenStoreError) -> Value {
            let previous = last[kind]
            let operation = Task {
                await previous?.value
                return await perform(on: kind, body)
            }
            last[kind] = Task { _ = await operation.value }
            return try await operation.value.get()
        }

        /// Runs one operation on a copy of the memory, because the other queue may change the memory meanwhile. Merges
        /// the copy back at the end.
        private func perform<Value: Sendable>(
            on kind: QueueKind,
            _ body: @escaping @Sendable (KeychainVault, inout KeychainMemory) throws(TokenStoreError) -> Value
        ) async -> Result<Value, TokenStoreError> {
            let (result, after) = await withCheckedContinuation { continuation in
                (kind == .operations ? queue : dialogs).async { [vault, memory] in
                    var memory = memory
                    let result = Result { () throws(TokenStoreError) in try body(vault, &memory) }
                    continuation.resume(returning: (result, memory))
                }
            }
            memory.merge(after)
            return result
        }
    }

    extension KeychainTokenStore {
        /// How a session is stored in the Keychain.
        public struct Options: Sendable {
            /// What happens to a session when the app is reinstalled. The Keychain keeps its items when an app is
            /// deleted.
            public struct AfterReinstall: Sendable, Hashable {
                let discards: Bool

                /// The user stays signed in. So does the next user of the device, if the app was deleted and the device
                /// not erased.
                public static let keep = Self(discards: false)
                /// The app starts without a session, like a new installation. This is the default. The earlier session
                /// ends at the server, unless it requires Face ID or Touch ID: then it ends when it expires.
                ///
                /// A file in the container of the ``Options/scope`` identifies the installation. The first start after
                /// a restored backup also counts as a new installation.
                public static let discard = Self(discards: true)
            }

            /// Which processes share the session.
            public enum Scope: Sendable, Hashable {
                /// This app alone. The session is in the first group of its `keychain-access-groups`, usually the app's
                /// own.
                ///
                /// - `container`: a folder that is deleted with the app; by default the Application Support folder.
                case app(container: URL? = nil)
                /// An app and its extensions. A session in another of the app's groups is moved into this one. The
                /// container holds a lock, so that one process at a time refreshes the session.
                ///
                /// ```swift
                /// guard let container = FileManager.default.containerURL(
                ///     forSecurityApplicationGroupIdentifier: "group.com.example.shop") else { … }
                /// let scope = KeychainTokenStore.Options.Scope.appGroup(
                ///     accessGroup: "TEAMID.com.example.shop", container: container)
                /// ```
                ///
                /// - `accessGroup`: a group in the `keychain-access-groups` of all these processes.
                /// - `container`: the app group's container.
                case appGroup(accessGroup: String, container: URL)
            }

            /// Identifies the session among all items that the app can access (`kSecAttrService`). Two apps that share
            /// an access group and use the same name share the session.
            public var service: String
            /// Identifies the session among several of a service (`kSecAttrAccount`). Clients of different servers need
            /// different accounts: ``GatehouseClient/init(configuration:)`` refuses the second.
            public var account: String
            public var scope: Scope
            /// How the user unlocks the session, until ``GatehouseSession/setUnlockPolicy(_:reason:)`` has changed it.
            ///
            /// A device that cannot authenticate its user stores the session without this protection, and protects it
            /// with the first launch after an enrolment (``GatehouseSession/isProtected``). Face ID needs
            /// `NSFaceIDUsageDescription`.
            public var unlockPolicy: UnlockPolicy
            public var afterReinstall: AfterReinstall

            /// - Parameter service: by default the bundle identifier and `.gatehouse`. An extension has another bundle
            ///   identifier, so an app group needs a name of its own.
            public init(
                service: String? = nil, account: String = "session", scope: Scope = .app(),
                unlockPolicy: UnlockPolicy = .notRequired, afterReinstall: AfterReinstall = .discard
            ) {
                self.service =
                    service ?? "\(Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName).gatehouse"
                self.account = account
                self.scope = scope
                self.unlockPolicy = unlockPolicy
                self.afterReinstall = afterReinstall
            }
        }
    }

    extension KeychainTokenStore.Options {
        var keychainAccount: KeychainAccount { KeychainAccount(service: service, account: account) }

        var accessGroup: String? {
            if case .appGroup(let accessGroup, _) = scope { accessGroup } else { nil }
        }

        /// Returns a file of this session in the scope's container.
        func file(_ name: String) -> URL {
            let container =
                switch scope {
                case .app(let container): container ?? Self.applicationSupport
                case .appGroup(_, let container): container
                }
            return container.appendingPathComponent("\(service).\(account).\(name)")
        }

        var lock: FileLock? {
            guard case .appGroup = scope else { return nil }
            return FileLock(
                file: PrivateFile(path: file("lock").path), clock: SystemClock(), keepAwake: KeychainLock.keepAwake)
        }

        /// The file that identifies the installation. An app that shares its session later has marked its own folder
        /// before.
        var installation: KeychainInstallation {
            var earlier = self
            earlier.scope = .app()
            return KeychainInstallation(file: file("installed"), earlierFile: earlier.file("installed"))
        }

        private static var applicationSupport: URL {
            FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
                ?? URL(fileURLWithPath: NSHomeDirectory(), isDirectory: true)
        }
    }

    /// How the user unlocks the session, according to a file that is deleted with the app. It is not encrypted, because
    /// a store needs it before the device's first unlock. A changed file unlocks nothing: the key of a stored session
    /// keeps its access control until the user has unlocked it.
    struct KeychainUnlockPolicy: Sendable {
        let file: URL
        /// The policy until the user has chosen one.
        let initial: UnlockPolicy

        /// - Throws: `failed` if a file exists and cannot be read, so that no session becomes unprotected by an error.
        var current: UnlockPolicy {
            get throws(TokenStoreError) {
                do {
                    let text = try String(decoding: Data(contentsOf: file), as: UTF8.self)
                    // A later version may know more policies.
                    return UnlockPolicy(rawValue: text) ?? .biometrics
                } catch let error as CocoaError
                    where error.code == .fileReadNoSuchFile || error.code == .fileNoSuchFile
                {
                    return initial
                } catch {
                    throw TokenStoreError(.failed, "the unlock policy: \((error as NSError).code)")
                }
            }
        }

        func set(_ policy: UnlockPolicy) throws(TokenStoreError) {
            do {
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(policy.rawValue.utf8).write(to: file, options: [.atomic, .noFileProtection])
            } catch {
                throw TokenStoreError(.failed, "the unlock policy: \((error as NSError).code)")
            }
        }
    }

    /// Whether the user has signed out while the session could not be read, according to a file.
    ///
    /// A Keychain item cannot be written before the device's first unlock. This file can, because it is not encrypted.
    struct KeychainSignOut: Sendable {
        let file: URL

        var isPending: Bool { FileManager.default.fileExists(atPath: file.path) }

        func set(_ isPending: Bool) throws(TokenStoreError) {
            do {
                guard isPending else {
                    if self.isPending { try FileManager.default.removeItem(at: file) }
                    return
                }
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data().write(to: file, options: .noFileProtection)
            } catch {
                throw TokenStoreError(.failed, "the record of the sign-out: \((error as NSError).code)")
            }
        }
    }

    /// Whether this installation of the app has been seen before, according to a file that is deleted with the app.
    ///
    /// UserDefaults read as empty while the device is locked. An app that the system prewarms then would appear newly
    /// installed.
    struct KeychainInstallation: Sendable {
        let file: URL
        /// The file of a configuration without an app group.
        var earlierFile: URL?
        var read: @Sendable (URL) throws -> Data = { try Data(contentsOf: $0) }

        /// - Throws: `deviceLocked` if a file exists and cannot be read yet.
        func isMarked() throws(TokenStoreError) -> Bool {
            if try isMarked(file) { return true }
            guard let earlierFile, earlierFile != file, try isMarked(earlierFile) else { return false }
            try mark()
            return true
        }

        private func isMarked(_ file: URL) throws(TokenStoreError) -> Bool {
            do {
                return try !read(file).isEmpty
            } catch let error as CocoaError where error.code == .fileReadNoSuchFile || error.code == .fileNoSuchFile {
                return false
            } catch let error as CocoaError where error.code == .fileReadNoPermission {
                throw TokenStoreError(.deviceLocked, "the mark of the installation cannot be read")
            } catch {
                throw TokenStoreError(.failed, "the mark of the installation: \((error as NSError).code)")
            }
        }

        func mark() throws(TokenStoreError) {
            do {
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                // The file has content so that reading it needs the same device key as reading the session.
                try Data("gatehouse\n".utf8).write(
                    to: file, options: [.atomic, .completeFileProtectionUntilFirstUserAuthentication])
                var file = file
                var values = URLResourceValues()
                // Exclude the file from backups: restored to another device, it would look like an earlier
                // installation.
                values.isExcludedFromBackup = true
                try file.setResourceValues(values)
            } catch {
                throw TokenStoreError(.failed, "the mark of the installation: \((error as NSError).code)")
            }
        }
    }
#endif
