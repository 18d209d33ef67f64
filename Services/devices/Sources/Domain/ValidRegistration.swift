import Contracts

/// A registration whose fields have all been checked.
struct ValidRegistration: Sendable, Equatable {
    let token: DeviceToken
    let environment: PushEnvironment
    let bundleID: String
    let kind: PushKind
    let installationID: String?
    let locale: String?
    let timeZone: String?
    let appVersion: String?
    let osVersion: String?
    let model: String?

    /// - Throws: every field that is wrong, not only the first.
    init(_ registration: Registration, timeZones: TimeZoneDatabase) throws(InvalidRegistration) {
        let token = DeviceToken(hex: registration.token)
        var wrong: [InvalidRegistration.Field] = []
        func check(_ field: String, _ isGood: Bool, _ message: String) {
            if !isGood { wrong.append(InvalidRegistration.Field(name: field, message: message)) }
        }
        func check(_ field: String, _ value: String?, _ rule: (String) -> Bool, _ message: String) {
            check(field, value.map(rule) ?? true, message)
        }

        check(
            "token", token != nil, "Must be an even count of hexadecimal digits, at most \(DeviceToken.maximumDigits).")
        check("environment", registration.environment.isKnown, Self.mustBeOne(of: PushEnvironment.known))
        check("bundleId", BundleID.isValid(registration.bundleId), "Must be an app's bundle identifier.")
        check(
            "installationId", registration.installationId, InstallationID.isValid,
            "Must be 1 to \(InstallationID.maximumLength) visible ASCII characters.")
        check("kind", registration.kind?.isKnown ?? true, Self.mustBeOne(of: PushKind.known))
        let locale = registration.locale.map(LanguageTag.normalized)
        check("locale", locale, LanguageTag.isValid, "Must be a language tag such as en-GB.")
        check("timeZone", registration.timeZone, timeZones.accepts, "Must be a time zone such as Europe/Berlin.")
        for (field, value) in [
            ("appVersion", registration.appVersion), ("osVersion", registration.osVersion),
            ("model", registration.model),
        ] {
            check(field, value, Label.isValid, "Must be 1 to \(Label.maximumLength) printable characters.")
        }

        guard wrong.isEmpty, let token else { throw InvalidRegistration(fields: wrong) }
        self.token = token
        environment = registration.environment
        bundleID = registration.bundleId
        kind = registration.kind ?? .alert
        installationID = registration.installationId
        self.locale = locale
        timeZone = registration.timeZone
        appVersion = registration.appVersion
        osVersion = registration.osVersion
        model = registration.model
    }

    private static func mustBeOne(of values: [some OpenValue]) -> String {
        "Must be one of \(values.map(\.rawValue).joined(separator: ", "))."
    }
}
