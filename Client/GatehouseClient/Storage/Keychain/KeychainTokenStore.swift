#if canImport(Security)
    import Dispatch
    public import Foundation

    /// Keeps a session in the Keychain: a generic password that this device can read from its first unlocking on, also
    /// in the background (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`), and that is in no backup of another.
    ///
    /// It throws `deviceLocked` as long as the device has not been unlocked since it was started, as when the system warms
    /// an app up: a Keychain that cannot be read is not an empty one. On a Mac the app needs an entitlement for the data
    /// protection Keychain (`keychain-access-groups`, or an application identifier); programs without one keep their
    /// session in a file.
    public actor KeychainTokenStore: TokenStore {
        /// Where a step waits: the functions of Security wait for another process, and a dialog for the user. Neither on
        /// one of Swift's threads.
        private enum Line {
            case steps
            case dialogs
        }

        private let vault: KeychainVault
        private let queue: DispatchQueue
        private let dialogs: DispatchQueue
        /// The last step of each line. One follows the other, so that what is saved last stays, and each knows what those
        /// before it have learnt.
        private var last: [Line: Task<Void, Never>] = [:]
        private var memory = KeychainMemory()

        public init(_ options: Options = Options()) {
            self.init(
                KeychainVault(options), queue: DispatchQueue(label: "gatehouse.keychain"),
                dialogs: DispatchQueue(label: "gatehouse.keychain.dialogs"))
        }

        init(_ vault: KeychainVault, queue: DispatchQueue, dialogs: DispatchQueue) {
            self.vault = vault
            self.queue = queue
            self.dialogs = dialogs
        }

        public func load() async throws(TokenStoreError) -> Data? {
            try await run(.steps) { vault, memory throws(TokenStoreError) in try vault.load(&memory) }
        }

        public func save(_ data: Data) async throws(TokenStoreError) {
            try await run(.steps) { vault, memory throws(TokenStoreError) in try vault.save(data, &memory) }
        }

        /// Removes what is there, for an app that begins anew; no error where there is nothing. The server is not told.
        public func delete() async throws(TokenStoreError) {
            try await run(.steps) { vault, memory throws(TokenStoreError) in try vault.delete(&memory) }
        }

        public func unlock(reason: String) async throws(TokenStoreError) {
            try await run(.dialogs) { vault, memory throws(TokenStoreError) in
                try vault.unlock(reason: reason, &memory)
            }
        }

        private func run<Value: Sendable>(
            _ line: Line,
            _ body: @escaping @Sendable (KeychainVault, inout KeychainMemory) throws(TokenStoreError) -> Value
        ) async throws(TokenStoreError) -> Value {
            let previous = last[line]
            let step = Task {
                await previous?.value
                return await take(on: line, body)
            }
            last[line] = Task { _ = await step.value }
            return try await step.value.get()
        }

        /// One step. It works on a copy of the memory, since a dialog may be answered meanwhile, and adds what it learns.
        private func take<Value: Sendable>(
            on line: Line,
            _ body: @escaping @Sendable (KeychainVault, inout KeychainMemory) throws(TokenStoreError) -> Value
        ) async -> Result<Value, TokenStoreError> {
            let (result, after) = await withCheckedContinuation { continuation in
                (line == .steps ? queue : dialogs).async { [vault, memory] in
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
        /// Where and how a session lies in the Keychain.
        public struct Options: Sendable {
            /// What becomes of a session that has outlived the app: the Keychain keeps its items when an app is deleted.
            public struct AfterReinstall: Sendable, Hashable {
                let discards: Bool

                /// The user is still signed in.
                public static let keep = Self(discards: false)
                /// The app begins without a session, as a new one would.
                ///
                /// A file in ``Options/container`` tells one installation from the next. The first start after a restored
                /// backup counts as an installation too.
                public static let discard = Self(discards: true)
            }

            /// Names the session among all items that the app can see (`kSecAttrService`). Two apps that share an access
            /// group and give the same name share the session.
            public var service: String
            /// Names the session among several of a service (`kSecAttrAccount`).
            public var account: String
            /// One of the groups in the app's `keychain-access-groups`, for a session that an app shares with its
            /// extensions; `nil`: the first group, as a rule the app's own. A session in another group of the app's is
            /// moved into this one.
            public var accessGroup: String?
            /// Whether the session can only be read by who has proved with Face ID or Touch ID to be among those who were
            /// enrolled when it was saved first (`biometryCurrentSet`), once in each process.
            ///
            /// With a change of the enrolment the session is lost, and the user signs in anew. Saving one fails where
            /// nobody is enrolled: ask `LAContext.canEvaluatePolicy` before you offer it. Face ID needs
            /// `NSFaceIDUsageDescription`.
            public var requiresBiometry: Bool
            public var afterReinstall: AfterReinstall
            /// Where the file lies that tells one installation from the next: a folder that goes with the app. Where
            /// extensions share the session it has to be in the container of the app group, or an extension's first
            /// start would look like an installation.
            public var container: URL

            /// - Parameters:
            ///   - service: by default the bundle identifier and `.gatehouse`.
            ///   - container: by default the folder for application support.
            public init(
                service: String? = nil, account: String = "session", accessGroup: String? = nil,
                requiresBiometry: Bool = false, afterReinstall: AfterReinstall = .keep, container: URL? = nil
            ) {
                self.service =
                    service ?? "\(Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName).gatehouse"
                self.account = account
                self.accessGroup = accessGroup
                self.requiresBiometry = requiresBiometry
                self.afterReinstall = afterReinstall
                self.container =
                    container
                    ?? FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
                    ?? URL(fileURLWithPath: NSHomeDirectory(), isDirectory: true)
            }
        }
    }

    /// Tells whether this installation of the app has been seen before, by a file that goes with the app.
    ///
    /// Not by UserDefaults: while a device is locked these read as if they were empty, and an app that the system warms up
    /// then would take itself for newly installed.
    struct KeychainInstallation: Sendable {
        let file: URL
        let read: @Sendable (URL) throws -> Data

        init(file: URL, read: @escaping @Sendable (URL) throws -> Data = { try Data(contentsOf: $0) }) {
            self.file = file
            self.read = read
        }

        /// - Throws: `deviceLocked` where the file is there and cannot be read yet.
        func isMarked() throws(TokenStoreError) -> Bool {
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
                // It has content, so that reading it needs the same key of the device as reading the session does.
                try Data("gatehouse\n".utf8).write(
                    to: file, options: [.atomic, .completeFileProtectionUntilFirstUserAuthentication])
                var file = file
                var values = URLResourceValues()
                // In a backup it would tell another device that the app was there before.
                values.isExcludedFromBackup = true
                try file.setResourceValues(values)
            } catch {
                throw TokenStoreError(.failed, "the mark of the installation: \((error as NSError).code)")
            }
        }
    }
#endif
