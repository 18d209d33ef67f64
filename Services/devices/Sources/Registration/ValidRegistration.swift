// Pure: no I/O, no clock.

import GatehouseBytes
import GatehouseServiceContracts

/// A registration whose fields have all been checked. An unreadable locale or time zone is left out.
struct ValidRegistration: Sendable, Equatable {
    let token: PushToken
    let environment: PushEnvironment
    let bundleID: String
    let kind: PushKind
    let activity: String?
    let attributesType: String?
    let installationID: String?
    let locale: String?
    let timeZone: String?
    let appVersion: String?
    let osVersion: String?
    let model: String?
    let alertsAllowed: Bool?

    /// - Throws: every field that is wrong, not only the first.
    init(_ registration: Registration, timeZones: TimeZoneDatabase) throws(InvalidRegistration) {
        let token = PushToken(hex: registration.token)
        var wrong: [InvalidRegistration.Field] = []
        func check(_ field: String, _ isGood: Bool, _ message: String) {
            if !isGood { wrong.append(InvalidRegistration.Field(name: field, message: message)) }
        }
        func check(_ field: String, _ value: String?, _ rule: (String) -> Bool, _ message: String) {
            check(field, value.map(rule) ?? true, message)
        }

        check(
            "token", token != nil, "Must be an even count of hexadecimal digits, at most \(PushToken.maximumDigits).")
        check("environment", registration.environment.isKnown, Self.mustBeOne(of: PushEnvironment.known))
        check("bundleId", BundleID.isValid(registration.bundleId), "Must be an app's bundle identifier.")
        check("installationId", registration.installationId, VisibleText.isValid, VisibleText.rule)
        let kind = registration.kind ?? .alert
        check("kind", kind.isKnown, Self.mustBeOne(of: PushKind.known))
        check("activity", registration.activity, VisibleText.isValid, VisibleText.rule)
        check(
            "activity", registration.activity == nil || kind == .liveactivity,
            "Only a token of the kind liveactivity has an activity.")
        check("attributesType", registration.attributesType, VisibleText.isValid, VisibleText.rule)
        switch kind {
        case .liveactivity: break
        case .pushtostart: check("attributesType", registration.attributesType != nil, "A pushtostart token needs it.")
        default:
            check("attributesType", registration.attributesType == nil, "Only tokens of Live Activities have a type.")
        }
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
        self.kind = kind
        activity = registration.activity
        attributesType = registration.attributesType
        installationID = registration.installationId
        // Apps take these from the system, which may be newer than this service. A message in the default language is
        // better than none.
        locale = registration.locale.map(LanguageTag.normalized).flatMap { LanguageTag.isValid($0) ? $0 : nil }
        timeZone = registration.timeZone.flatMap { timeZones.accepts($0) ? $0 : nil }
        appVersion = registration.appVersion
        osVersion = registration.osVersion
        model = registration.model
        alertsAllowed = registration.alertsAllowed
    }

    private static func mustBeOne(of values: [some OpenValue]) -> String {
        "Must be one of \(values.map(\.rawValue).joined(separator: ", "))."
    }
}

/// The errors of a registration: every field, not only the first.
struct InvalidRegistration: Error, Equatable {
    /// A field that is wrong.
    struct Field: Sendable, Equatable {
        /// As in the request.
        let name: String
        /// The rule that the field breaks.
        let message: String
    }

    let fields: [Field]
}

/// An app's bundle identifier, which APNs uses as topic: ASCII letters, digits, hyphens, and single periods between.
enum BundleID {
    /// Apple's own limit.
    static let maximumLength = 155

    static func isValid(_ text: String) -> Bool {
        guard text.utf8.count <= maximumLength else { return false }
        return text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty && part.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "-") }
        }
    }
}

/// The device token that APNs gave an app on a device. A user who knows it can register the device as theirs, so the
/// service never shows it.
struct PushToken: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    static let maximumDigits = 2048

    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Parses hexadecimal digits of either case. Apple does not specify the length.
    init?(hex: String) {
        let digits = hex.utf8
        guard !digits.isEmpty, digits.count <= Self.maximumDigits, digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        var high: UInt8?
        for digit in digits {
            guard let value = Hexadecimal.value(digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        self.bytes = bytes
    }

    var description: String { "PushToken(\(bytes.count) bytes)" }
    var customMirror: Mirror { Mirror(self, children: ["count": bytes.count]) }
}

/// An identifier that an app chose: of its installation, a Live Activity, or the type of its attributes.
enum VisibleText {
    static let maximumLength = 128
    static let rule = "Must be 1 to \(maximumLength) visible ASCII characters."

    static func isValid(_ text: String) -> Bool {
        (1...maximumLength).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

/// Text for people to read, such as a version or a model.
enum Label {
    static let maximumLength = 64

    static func isValid(_ text: String) -> Bool {
        (1...maximumLength).contains(text.unicodeScalars.count)
            && text.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: false
                default: true
                }
            }
    }
}

/// The syntax of a BCP 47 language tag (RFC 5646 §2.1). Whether its subtags are registered is not checked.
enum LanguageTag {
    static let maximumLength = 64

    /// Converts the notation of `Locale.identifier` and POSIX to a tag: `en_US`, `zh-Hans_CN`,
    /// `en_US@calendar=buddhist`, `de_DE.UTF-8`. The part from `@` or `.` on is dropped.
    static func normalized(_ text: String) -> String {
        let bytes = text.utf8.prefix { $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: ".") }
            .map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func isValid(_ text: String) -> Bool {
        guard text.utf8.count <= maximumLength else { return false }
        let subtags = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard let language = subtags.first, subtags.allSatisfy(isSubtag) else { return false }
        let privateUse = subtags.firstIndex { $0.count == 1 && $0.first.map { $0 | 0x20 } == UInt8(ascii: "x") }
        guard privateUse == 0 || (language.count >= 2 && language.allSatisfy(\.isASCIILetter)) else { return false }
        // A single letter or digit begins an extension, so a subtag must follow. After `x`, any subtag is allowed.
        return subtags.last?.count != 1 || privateUse.map { $0 < subtags.count - 1 } == true
    }

    private static func isSubtag(_ subtag: Substring.UTF8View) -> Bool {
        (1...8).contains(subtag.count) && subtag.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit }
    }
}

/// The time zones of the IANA database by name, with links such as `Asia/Calcutta`.
///
/// Foundation's `TimeZone(identifier:)` is no substitute, because it accepts names such as `GMT+3`.
struct TimeZoneDatabase: Sendable, Equatable {
    /// Bytes of a name. The longest name today has 30.
    static let maximumLength = 64

    private let names: Set<String>

    init(_ names: some Sequence<String>) {
        self.names = Set(names)
    }

    /// Reads the names from the text of `tzdata.zi`, the database in zic(8)'s short form: a line
    /// `Z NAME …` for each zone and `L TARGET NAME` for each link.
    init(zic text: String) {
        var names: Set<String> = []
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            switch fields.first {
            case "Z" where fields.count > 1: names.insert(String(fields[1]))
            case "L" where fields.count > 2: names.insert(String(fields[2]))
            default: continue
            }
        }
        self.names = names
    }

    var isEmpty: Bool { names.isEmpty }

    /// Whether the database has the name, or the name has the form `Area/Location`: a phone's database may be newer
    /// than this machine's. A zone that an app creates from an offset has a name such as `GMT+0200`.
    func accepts(_ name: String) -> Bool {
        // Check the length first: a lookup hashes the text, and hashing normalizes it.
        name.utf8.count <= Self.maximumLength
            && (names.contains(name) || Self.isWellFormed(name) || Self.isOffset(name))
    }

    /// `GMT`, a sign, and hours and minutes of two digits each, as in Foundation's `TimeZone(secondsFromGMT:)`.
    private static func isOffset(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard bytes.count == 8, name.utf8.starts(with: "GMT".utf8), bytes[4...].allSatisfy(\.isASCIIDigit),
            bytes[3] == UInt8(ascii: "+") || bytes[3] == UInt8(ascii: "-"),
            let hours = Int(name.suffix(4).prefix(2)), let minutes = Int(name.suffix(2))
        else { return false }
        return hours <= 18 && minutes < 60
    }

    private static func isWellFormed(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return (2...3).contains(parts.count)
            && parts.allSatisfy { part in
                part.first.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) } == true
                    && part.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "+"): true
                        default: byte.isASCIILetter || byte.isASCIIDigit
                        }
                    }
            }
    }
}

extension UInt8 {
    /// `A` to `Z` and `a` to `z`.
    var isASCIILetter: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }

    /// `0` to `9`.
    var isASCIIDigit: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
    }
}
