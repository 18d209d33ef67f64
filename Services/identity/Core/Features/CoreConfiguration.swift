import GatehouseInstruments
import GatehouseServiceKit
package import GatehouseSettings
package import Sealing

/// The settings that the features share.
package struct CoreConfiguration: Sendable {
    var isLimited: Bool
    var sealingKeys: KeyRing
    package var pepperKeys: KeyRing
    var home: PhoneRegion?
    /// How recent authentication has to be for actions that a stolen access token must not allow.
    var authenticationAge: AuthenticationAge
    package var messages: MessageConfiguration
    /// Allowances that replace those with the same name.
    var allowances: [String: AttemptAllowance]

    /// - Parameter templates: Gatehouse's own.
    package init(settings: Settings, templates: MessageTemplates) {
        isLimited = settings.rateLimitsEnabled
        sealingKeys = Self.keys(
            "sealingKeysFile",
            "lines `ID:BASE64` of 32 bytes, which seal messages, codes and Apple's tokens; the first seals new ones",
            settings)
        pepperKeys = Self.keys(
            "pepperKeysFile", "lines `ID:BASE64` of 32 bytes; the first is used for new hashes", settings)
        home = settings.optionalString(
            "phoneCallingCode", "calling code of the country whose national numbers are understood: `49`"
        ).flatMap { code in settings.read("phoneCallingCode", from: code) { try PhoneRegion(callingCode: $0) } }
        authenticationAge = AuthenticationAge(
            maximum: settings.int(
                "maximumAuthenticationAge", default: 600, in: 60...31_536_000, unit: "seconds",
                "longest time since the user authenticated, for actions that need recent authentication"))
        messages = MessageConfiguration(settings: settings, templates: templates)
        let known = AttemptLimits.allowances(budget: messages.budget).filter { $0.setting == nil }
        let replacements = settings.strings(
            "allowances", default: [], "attempt limits that replace those of the same name: `NAME=COUNT/SECONDS`")
        allowances = replacements.reduce(into: [:]) { allowances, text in
            let read = settings.read("allowances", from: text) { try AttemptAllowance(parsing: $0, among: known) }
            if let read, allowances.updateValue(read, forKey: read.name) != nil {
                settings.problem("allowances", "names \(read.name) twice")
            }
        }
    }

    private static func keys(_ key: String, _ meaning: String, _ settings: Settings) -> KeyRing {
        settings.read(key, from: settings.secretFile(key, meaning)) { try KeyRing($0) } ?? .placeholder
    }
}

extension KeyRing {
    /// Registers a metric of the keys that this replica has. The key file does not contain the age of a key.
    ///
    /// - Parameter kind: the purpose of the keys.
    func registerMetrics(as kind: String) {
        for id in ids {
            Gauge(
                "identity_key_info", help: "1 for each key of identity, by its use in this replica.",
                labels: [("kind", kind), ("key", id), ("use", id == current.id ? "current" : "previous")]
            ).set(1)
        }
    }
}
