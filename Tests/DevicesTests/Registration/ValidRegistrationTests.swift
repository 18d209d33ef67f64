import GatehouseServiceContracts
import TestKit
import Testing

@testable import DevicesService

@Suite struct ValidRegistrationTests {
    static let timeZones = TimeZoneDatabase(["Europe/Berlin", "UTC"])
    static let good = Registration(
        token: "00FFab", environment: .sandbox, bundleId: "com.example.app", installationId: "installation-1",
        kind: .voip, locale: "en-GB", timeZone: "Europe/Berlin", appVersion: "1.2 (34)", osVersion: "iOS 26.1",
        model: "iPhone17,2")

    /// The fields that are refused.
    static func refused(_ change: (inout Registration) -> Void) -> [String] {
        var registration = good
        change(&registration)
        do throws(InvalidRegistration) {
            _ = try ValidRegistration(registration, timeZones: timeZones)
            return []
        } catch {
            return error.fields.map(\.name)
        }
    }

    /// What is kept of a locale or time zone: an unreadable one is left out.
    static func kept(_ field: WritableKeyPath<Registration, String?>, _ text: String) throws -> ValidRegistration {
        var registration = good
        registration[keyPath: field] = text
        return try ValidRegistration(registration, timeZones: timeZones)
    }

    @Test func goodFieldsAreKept() throws {
        let valid = try ValidRegistration(Self.good, timeZones: Self.timeZones)
        #expect(valid.token.bytes == [0x00, 0xFF, 0xAB])
        #expect(valid.kind == .voip)
        #expect(valid.installationID == "installation-1")
        #expect(valid.osVersion == "iOS 26.1")
    }

    @Test func onlyThreeFieldsAreRequired() throws {
        let registration = Registration(token: "aa", environment: .production, bundleId: "app")
        let valid = try ValidRegistration(registration, timeZones: Self.timeZones)
        #expect(valid.kind == .alert)
        #expect(valid.installationID == nil)
    }

    @Test func everyWrongFieldIsTold() {
        let fields = Self.refused {
            $0.token = "x"
            $0.bundleId = ""
            $0.installationId = ""
            $0.appVersion = ""
            $0.osVersion = ""
            $0.model = ""
        }
        #expect(
            fields == [
                "token", "bundleId", "installationId", "appVersion", "osVersion", "model",
            ])
    }

    @Test(arguments: ["00", "aF09", String(repeating: "ab", count: 32), String(repeating: "0", count: 2048)])
    func tokens(hex: String) {
        #expect(PushToken(hex: hex)?.bytes.count == hex.utf8.count / 2)
    }

    @Test(arguments: ["", "0", "abc", "0g", "0x00", " 00", "00 ", "é", "٠٠", String(repeating: "0", count: 2050)])
    func textThatIsNoToken(text: String) {
        #expect(Self.refused { $0.token = text } == ["token"])
    }

    @Test func bothCasesAreOneToken() {
        #expect(PushToken(hex: "ABCDEF") == PushToken(hex: "abcdef"))
    }

    @Test func otherFieldsAreRefusedBesideAnUnreadableLocale() {
        let fields = Self.refused {
            $0.locale = ""
            $0.timeZone = ""
            $0.model = ""
        }
        #expect(fields == ["model"])
    }

    @Test func tokensAreNotPrinted() throws {
        let token = try #require(PushToken(hex: "deadbeef"))
        var dumped = ""
        dump(token, to: &dumped)
        for text in ["\(token)", String(reflecting: token), dumped] {
            #expect(!text.contains("222") && !text.contains("dead"))
        }
    }

    @Test(arguments: [
        "com.example.app", "App", "com.example-corp.App2", "1.2", String(repeating: "a", count: 155),
    ])
    func bundleIDs(text: String) {
        #expect(Self.refused { $0.bundleId = text } == [])
    }

    @Test(arguments: [
        "", ".", "com..app", ".com", "com.", "com.ex ample", "com.example/app", "com_example", "com.exämple", "a\n",
        String(repeating: "a", count: 156),
    ])
    func textThatIsNoBundleID(text: String) {
        #expect(Self.refused { $0.bundleId = text } == ["bundleId"])
    }

    @Test(arguments: [
        "en", "de-DE", "zh-Hant-TW", "sr-Latn-RS", "es-419", "sl-rozaj-biske", "de-CH-1901", "en-US-u-ca-gregory",
        "x-private", "de-x-a", "EN-gb", "art-lojban", "en_US", "zh-Hans_CN", "de_DE.UTF-8", "en_US@rg=dezzzz",
    ])
    func languageTags(text: String) throws {
        #expect(try Self.kept(\.locale, text).locale == LanguageTag.normalized(text))
    }

    @Test(arguments: [
        "", "e", "en_", "_US", "@x", "en-", "-en", "en--US", "1en", "en-toolongsubtag", "en-u", "x", "en US", "dé",
        "én_US@x",
        "i-klingon", "toolonglanguage", String(repeating: "en-", count: 21) + "en-US",
    ])
    func textThatIsNoLanguageTag(text: String) throws {
        let kept = try Self.kept(\.locale, text)
        #expect(kept.locale == nil && kept.timeZone == "Europe/Berlin" && kept.model == "iPhone17,2")
    }

    @Test func whatSystemsWriteBecomesALanguageTag() throws {
        for (text, tag) in [
            ("en_US", "en-US"), ("zh_Hans_CN", "zh-Hans-CN"), ("en_US@calendar=buddhist", "en-US"), ("de-DE", "de-DE"),
        ] {
            #expect(try Self.kept(\.locale, text).locale == tag)
        }
    }

    /// The phone may be newer than this machine.
    @Test(arguments: [
        "Mars/Olympus", "America/Argentina/El_Calafate", "Europe/Kyiv", "Etc/GMT+99", "UTC", "GMT+0200", "GMT-0330",
    ])
    func timeZones(text: String) throws {
        #expect(try Self.kept(\.timeZone, text).timeZone == text)
    }

    @Test(
        arguments: [
            "GMT+3", "GMT+1900", "GMT+0260", "GMT 0200", "europe/berlin", "Europe/Berlin ", "Europe", "../UTC",
            "+01:00", "A/B/C/D", "Europe/", "/Berlin",
            "Europe//Berlin", "Europe/Bérlin", "Europe/" + String(repeating: "B", count: 58),
        ])
    func textThatIsNoTimeZone(text: String) throws {
        let kept = try Self.kept(\.timeZone, text)
        #expect(kept.timeZone == nil && kept.locale == "en-GB")
    }

    @Test(arguments: ["a", "6F9619FF-8B86-D011-B42D-00CF4FC964FF", "!~", String(repeating: "i", count: 128)])
    func installationIDs(text: String) {
        #expect(Self.refused { $0.installationId = text } == [])
    }

    @Test(arguments: ["", " ", "a b", "ü", "a\u{0}", "a\u{7F}", String(repeating: "i", count: 129)])
    func textThatIsNoInstallationID(text: String) {
        #expect(Self.refused { $0.installationId = text } == ["installationId"])
    }

    @Test(
        arguments: [
            (PushKind.alert, nil, nil, []), (.alert, "a", nil, ["activity"]), (.alert, nil, "T", ["attributesType"]),
            (.voip, "a", "T", ["activity", "attributesType"]),
            (.liveactivity, nil, nil, []), (.liveactivity, "a", nil, []), (.liveactivity, "a", "T", []),
            (.liveactivity, "a b", "", ["activity", "attributesType"]),
            (.pushtostart, nil, "T", []), (.pushtostart, nil, nil, ["attributesType"]),
            (.pushtostart, "a", "T", ["activity"]),
        ] as [(PushKind, String?, String?, [String])])
    func activities(kind: PushKind, activity: String?, attributesType: String?, refused: [String]) {
        let fields = Self.refused { ($0.kind, $0.activity, $0.attributesType) = (kind, activity, attributesType) }
        #expect(fields == refused)
    }

    @Test(arguments: ["1", "1.0 β", "Adas Telefon 📱", String(repeating: "ü", count: 64)])
    func labels(text: String) {
        #expect(Self.refused { $0.model = text } == [])
        #expect(Self.refused { $0.appVersion = text } == [])
    }

    @Test(arguments: [
        "", "a\u{0}", "a\nb", "\u{202E}evil", "\u{200B}", "\u{2028}", String(repeating: "ü", count: 65),
        "a" + String(repeating: "\u{301}", count: 64),
    ])
    func textThatIsNoLabel(text: String) {
        #expect(Self.refused { $0.model = text } == ["model"])
        #expect(Self.refused { $0.osVersion = text } == ["osVersion"])
    }
}

extension ValidRegistrationTests {
    /// Each field is bounded before anything compares, hashes or normalizes it.
    @Test func marksCostNoMoreThanLettersInAnyField() {
        func check(_ text: String) {
            let registration = Registration(
                token: text, environment: .sandbox, bundleId: text, installationId: text, locale: text, timeZone: text,
                appVersion: text, osVersion: text, model: text)
            _ = try? ValidRegistration(registration, timeZones: Self.timeZones)
        }
        let (marks, letters) = (CostlyText.marks(bytes: 60_000), CostlyText.harmless(bytes: 60_000))
        let limit = leastCPUTime { check(letters) } * 3 + .milliseconds(4)
        #expect(leastCPUTime(aimingUnder: limit) { check(marks) } < limit)
    }
}

@Suite struct TimeZoneDatabaseTests {
    @Test func zonesAndLinksAreRead() {
        let names = TimeZoneDatabase(
            zic: """
                # version 2025b
                R c 1916 o - Jun 14 23s 1 S
                Z Europe/Berlin 0:53:28 - LMT 1893 Ap
                1 c CE%sT 1945 May 24 2
                L Asia/Kolkata Asia/Calcutta
                L broken
                """)
        #expect(names == TimeZoneDatabase(["Europe/Berlin", "Asia/Calcutta"]))
    }

    @Test(arguments: ["UTC", "GMT", "EST5EDT", "Japan", "Europe/Berlin", "Asia/Calcutta", "US/Pacific", "Etc/GMT+3"])
    func theSystemKnows(name: String) {
        #expect(TimeZoneDatabase.system().accepts(name))
    }

    @Test(arguments: ["GMT+3", "UTC+1", "PST", "CEST", "", "posix/UTC", "tzdata.zi"])
    func theSystemDoesNotKnow(name: String) {
        #expect(!TimeZoneDatabase.system().accepts(name))
    }

    @Test func foundationHelpsOutWithoutADatabase() {
        #expect(TimeZoneDatabase.system(database: "/nowhere").accepts("GMT"))
    }
}
