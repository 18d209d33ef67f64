#if canImport(Security)
    public import Foundation

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
#endif
