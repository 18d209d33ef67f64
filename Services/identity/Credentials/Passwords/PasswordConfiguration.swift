import Foundation
import GatehouseServiceKit
import GatehouseSettings
import IdentityCore

/// Settings of passwords.
struct PasswordConfiguration: CredentialConfiguration {
    var passwordMinimumLength: Int
    var breachedPasswords: BreachedPasswords?
    var firebaseSignerKey: [UInt8]?
    var hashingThreads: Int
    var hashingQueue: Int
    var hashingParameters: Argon2Parameters
    /// The team's own sender of messages with links for new passwords.
    var resetHook: HookSettings?
    /// The target of the link in these messages.
    var resetLink: URL?

    init(settings: Settings) {
        passwordMinimumLength = settings.int(
            "passwordMinimumLength", default: 8, in: 8...64, unit: "characters", "least length of a new password")
        breachedPasswords = settings.optionalPath(
            "breachedPasswordsFile", "filter of refused passwords, made by `identity passwords filter build`"
        ).flatMap { path in settings.read("breachedPasswordsFile", from: path) { try BreachedPasswords(path: $0) } }
        firebaseSignerKey = settings.optionalSecretFile(
            "firebaseSignerKeyFile", "signer key in base64 of the Firebase project that users came from"
        ).flatMap { text in
            let key = Data(base64Encoded: text.trimmingCharacters(in: .whitespacesAndNewlines)).map(Array.init)
            if !ForeignHash.hashLengths.contains(key?.count ?? 0) {
                settings.problem("firebaseSignerKeyFile", "names a file that holds no key in base64")
            }
            return key
        }
        hashingThreads = settings.int(
            "hashingThreads", default: max(1, ProcessInfo.processInfo.activeProcessorCount - 1),
            computedAs: "cores − 1", in: 1...256, "concurrent hashes of passwords")
        hashingQueue = settings.int(
            "hashingQueue", default: 64, in: 1...10_000, "passwords that may wait to be hashed")
        let floor = Argon2Parameters.floor
        hashingParameters = Argon2Parameters(
            memory: settings.int(
                "hashingMemory", default: floor.memory, in: Argon2Parameters.memoryRange, unit: "KiB",
                "memory of a hash; the container needs it for each thread"),
            iterations: settings.int(
                "hashingIterations", default: floor.iterations, in: Argon2Parameters.iterationsRange,
                "passes of a hash"),
            parallelism: settings.int(
                "hashingParallelism", default: floor.parallelism, in: Argon2Parameters.parallelismRange,
                "lanes of a hash, on one thread"))
        resetHook = HookSettings.read(settings, "resetHook", "endpoint for password resets")
        resetLink = MessageConfiguration.link("resetLinkURL", "password resets", settings)
    }

    func feature(_ core: CoreParts) -> any CredentialFeature { PasswordFeature(self, core) }

    func examine(_ examination: Examination) async -> [Finding] { [] }
}
