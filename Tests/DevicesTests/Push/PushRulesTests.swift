import Foundation
import GatehouseServiceContracts
import Testing

@testable import DevicesService

@Suite struct PushRulesTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let day: TimeInterval = 86_400

    /// A request that changes in one respect.
    private static func request(_ change: (inout PushRequest) -> Void = { _ in }) -> PushRequest {
        var request = PushRequest(
            targets: .init(users: [UUID()]), bundleId: "com.example.app", pushType: .alert, payload: .object([:]))
        change(&request)
        return request
    }

    /// The end of a Live Activity.
    private static let end = JSONValue.object(
        ["aps": .object(["event": .string("end"), "timestamp": .integer(1_800_000_000)])])
    private static let background = JSONValue.object(["aps": .object(["content-available": .integer(1)])])

    /// The fields that are refused.
    private func refused(
        _ request: PushRequest, payload: [UInt8] = Array("{}".utf8), templates: PushTemplates = PushTemplates()
    ) -> [String] {
        do throws(InvalidPush) {
            _ = try PushRules.validate(request, payload: payload, templates: templates, now: Self.now)
            return []
        } catch {
            return error.fields.map(\.name)
        }
    }

    @Test func whatIsLeftOutHasADefault() throws {
        let push = try PushRules.validate(Self.request(), payload: Array("{}".utf8), now: Self.now)
        #expect(push.content.expiresAt == Self.now + Self.day)
        #expect(push.content.priority == .immediate && push.content.onDoubt == .repeat)
        #expect(push.content.urgency == .normal && push.content.environment == nil)
        #expect(push.sendAt == nil && !push.isDryRun)
        let background = Self.request { ($0.pushType, $0.payload) = (.background, Self.background) }
        #expect(try PushRules.validate(background, payload: [0x7B], now: Self.now).content.priority == .considerate)
    }

    /// Each combination of push type and priority, as on Apple's page "Sending notification requests to APNs".
    @Test(arguments: PushType.allCases)
    func onlyCombinationsThatAppleAccepts(_ type: PushType) {
        let registered: [PushType: PushKind] = [
            .alert: .alert, .background: .alert, .voip: .voip, .liveactivity: .liveactivity,
        ]
        #expect(type.registrationKind == registered[type])
        for priority in PushPriority.allCases {
            let request = Self.request {
                ($0.pushType, $0.priority) = (type, priority)
                if type == .liveactivity { $0.payload = Self.end }
                if type == .background { $0.payload = Self.background }
            }
            var expected: [String] = registered[type] == nil ? ["pushType"] : []
            if type == .background, priority != .considerate { expected.append("priority") }
            if type == .pushtotalk, priority != .immediate { expected.append("priority") }
            if type == .liveactivity, priority == .powerSaving { expected.append("priority") }
            #expect(refused(request) == expected, "\(type) \(priority)")
        }
    }

    /// A start goes to tokens that start activities of its type, an update or end to those of activities.
    @Test(
        arguments: [
            ([:], nil, ["payload"]), (["event": "pause"], nil, ["payload"]),
            (["event": "update"], nil, []), (["event": "end"], "order-7", []),
            (["event": "end"], "a b", ["targets.activity"]),
            (["event": "start", "attributes-type": "Delivery", "input-push-token": "1"], nil, []),
            (["event": "start", "attributes-type": "Delivery", "input-push-channel": "c"], nil, []),
            (["event": "start", "attributes-type": "Delivery"], nil, ["payload"]),
            (["event": "start", "input-push-token": "1"], nil, ["payload"]),
            (["event": "start", "attributes-type": "D", "input-push-token": "1"], "order-7", ["targets.activity"]),
        ] as [([String: String], String?, [String])])
    func liveActivities(aps: [String: String], activity: String?, expected: [String]) throws {
        let request = Self.request {
            $0.pushType = .liveactivity
            let texts = aps.map { (VerbatimString($0.key), JSONValue.string($0.value)) }
            $0.payload = .object(["aps": .object(["timestamp": .number("1.5")].merging(texts) { $1 })])
            $0.targets.activity = activity
        }
        #expect(refused(request) == expected)
        guard expected.isEmpty else { return }
        let content = try PushRules.validate(request, payload: Array("{}".utf8), now: Self.now).content
        #expect(content.kind == (aps["event"] == "start" ? .pushtostart : .liveactivity))
        #expect(content.attributesType == aps["attributes-type"] && content.activity == activity)
    }

    @Test func onlyPushesOfLiveActivitiesNameOne() {
        #expect(refused(Self.request { $0.targets.activity = "order-7" }) == ["targets.activity"])
    }

    @Test func topicsHaveTheSuffixOfTheirType() {
        let topics = PushType.allCases.map { "\($0.rawValue) com.example.app\($0.topicSuffix)" }
        #expect(
            topics == [
                "alert com.example.app", "background com.example.app", "controls com.example.app.push-type.controls",
                "location com.example.app.location-query", "voip com.example.app.voip",
                "complication com.example.app.complication", "fileprovider com.example.app.pushkit.fileprovider",
                "mdm com.example.app", "liveactivity com.example.app.push-type.liveactivity",
                "pushtotalk com.example.app.voip-ptt", "widgets com.example.app.push-type.widgets",
            ])
    }

    @Test func payloadsHaveApplesLimits() {
        func object(_ bytes: Int) -> [UInt8] { Array("{".utf8) + [UInt8](repeating: 0x20, count: bytes - 2) + [0x7D] }
        for (type, limit) in [(PushType.alert, 4096), (.background, 4096), (.liveactivity, 4096), (.voip, 5120)] {
            let request = Self.request {
                $0.pushType = type
                if type == .liveactivity { $0.payload = Self.end }
                if type == .background { $0.payload = Self.background }
            }
            #expect(refused(request, payload: object(limit)).isEmpty)
            #expect(refused(request, payload: object(limit + 1)) == ["payload"])
        }
        for payload in ["", "[]", "null", "1", "\"text\""] {
            #expect(refused(Self.request(), payload: Array(payload.utf8)) == ["payload"], "\(payload)")
        }
    }

    /// Apple accepts them, and delivers none.
    @Test(
        arguments: [
            (.background, [:], false), (.background, ["content-available": .integer(1)], true),
            (.background, ["content-available": .number("1.0")], true),
            (.background, ["content-available": .integer(0)], false),
            (.background, ["content-available": .bool(true)], false),
            (.background, ["content-available": .string("1")], false),
            (.background, ["alert": .string("Hello")], false), (.alert, [:], true),
            (.liveactivity, ["event": .string("update")], false),
            (.liveactivity, ["event": .string("update"), "timestamp": .string("1800000000")], false),
            (.liveactivity, ["event": .string("update"), "timestamp": .integer(0)], false),
            (.liveactivity, ["event": .string("update"), "timestamp": .integer(1_800_000_000)], true),
            (.liveactivity, ["event": .string("end"), "timestamp": .number("1800000000.5")], true),
        ] as [(PushType, [VerbatimString: JSONValue], Bool)])
    func payloadsThatAppleDropsAreRefused(_ type: PushType, _ aps: [VerbatimString: JSONValue], isGood: Bool) {
        let request = Self.request {
            ($0.pushType, $0.payload) = (type, .object(["aps": .object(aps)]))
        }
        #expect(refused(request) == (isGood ? [] : ["payload"]))
        guard type != .alert else { return }
        #expect(refused(Self.request { ($0.pushType, $0.payload) = (type, .object([:])) }).contains("payload"))
    }

    /// Python's `json.dumps` writes each letter beyond ASCII as an escape.
    @Test func escapesAreWrittenAsUTF8WhereThatMakesAPayloadFit() throws {
        func sent(_ payload: String) throws -> String {
            let push = try PushRules.validate(Self.request(), payload: Array(payload.utf8), now: Self.now)
            return String(decoding: push.content.payload, as: UTF8.self)
        }
        let text = String(repeating: "Ж", count: 1500)
        let escaped = String(repeating: #"\u0416"#, count: 1500)
        #expect(try sent(#"{"a":"\#(escaped)"}"#) == #"{"a":"\#(text)"}"#)
        // What fits is sent byte for byte.
        let short = #"{ "a" : "\u0416\ud83d\ude00\/" }"#
        #expect(try sent(short) == short)
        #expect(refused(Self.request(), payload: Array(#"{"a":"\#(escaped)\#(escaped)"}"#.utf8)) == ["payload"])
    }

    @Test(
        arguments: [
            (#"\u0041"#, "A"), (#"\u00e4\u00C4"#, "äÄ"), (#"\u20AC"#, "€"), (#"\ud83d\ude00"#, "😀"),
            (#"\u0022"#, #"\u0022"#), (#"\u005c\u005C"#, #"\u005c\u005C"#), (#"\u0000\u001f\u007f\u0085"#, nil),
            (#"\ud83d"#, nil), (#"\ude00\ud83d"#, nil), (#"\ud83d\u0041"#, #"\ud83dA"#), (#"\ud83d\n"#, nil),
            (#"\\u0041"#, nil), (#"\\\u0041"#, #"\\A"#), (#"\"\/\b\f\n\r\t"#, nil), ("\\u004", nil), ("\\", nil),
            ("\\uD83D\\uDE0", nil), ("", nil), ("ä", nil), (#"\u002f"#, "/"), (#"\u2028"#, "\u{2028}"),
        ] as [(String, String?)])
    func escapes(text: String, written: String?) {
        #expect(
            String(decoding: PayloadRules.writingEscapesAsUTF8(Array(text.utf8)), as: UTF8.self) == written ?? text)
    }

    /// The meaning stays, by Foundation's parser.
    @Test func writtenEscapesMeanTheSame() throws {
        for value in stride(from: 1, through: 0x1FFFF, by: 7) {
            guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
            let escape = String(scalar).utf16.map { String(format: "\\u%04x", $0) }.joined()
            let json = Array(#"["x\#(escape)y"]"#.utf8)
            let written = PayloadRules.writingEscapesAsUTF8(json)
            let decoded = try JSONDecoder().decode([String].self, from: Data(written))
            #expect(decoded.map { Array($0.unicodeScalars) } == [Array("x\(scalar)y".unicodeScalars)])
        }
    }

    @Test func aPayloadThatFitsInNoFormIsRefusedBeforeItIsRead() {
        #expect(throws: Never.self) {
            try PayloadRules.checkRawSize([UInt8](repeating: 0x20, count: PayloadRules.maximumRawBytes))
        }
        let error = #expect(throws: InvalidPush.self) {
            try PayloadRules.checkRawSize([UInt8](repeating: 0x20, count: PayloadRules.maximumRawBytes + 1))
        }
        #expect(error?.fields.map(\.name) == ["payload"])
    }

    @Test func collapseIdsHaveApplesLimit() {
        for (id, isGood) in [
            ("a", true), (String(repeating: "a", count: 64), true), (String(repeating: "a", count: 65), false),
            ("", false), ("a b", false), ("é", false), ("a\nb", false),
        ] {
            #expect(refused(Self.request { $0.collapseId = id }).isEmpty == isGood, "\(id.debugDescription)")
        }
    }

    @Test func timesHaveBounds() throws {
        for (send, expiry, wrong) in [
            (nil, 1.0, []), (nil, 0, ["expiresAt"]), (nil, -1, ["expiresAt"]), (nil, 30 * Self.day, []),
            (nil, 30 * Self.day + 1, ["expiresAt"]), (30 * Self.day, nil, []), (30 * Self.day + 1, nil, ["sendAt"]),
            (60, 61, []), (60, 60, ["expiresAt"]), (-60, nil, []), (-60, -30, ["expiresAt"]),
            (30 * Self.day, 60 * Self.day, []), (30 * Self.day, 60 * Self.day + 1, ["expiresAt"]),
        ] as [(Double?, Double?, [String])] {
            let request = Self.request {
                $0.sendAt = send.map { Self.now + $0 }
                $0.expiresAt = expiry.map { Self.now + $0 }
            }
            #expect(refused(request) == wrong, "\(String(describing: send)) \(String(describing: expiry))")
        }
        let past = Self.request { $0.sendAt = Self.now - 60 }
        #expect(try PushRules.validate(past, payload: [0x7B], now: Self.now).sendAt == nil)
    }

    /// Due from UTC+14 to UTC-12. It is 08:00 on 15 January 2027.
    @Test(
        arguments: [
            ("2027-01-15T08:00:00", nil, nil, 36 * 3600, []), ("2027-01-17T00:00:00", 26 * 3600, nil, 76 * 3600, []),
            ("2027-01-14T20:00:00", nil, nil, 24 * 3600, []), ("2020-01-01T00:00:00", nil, nil, 24 * 3600, []),
            ("2027-01-15T08:00:00", nil, 12 * 3600, 12 * 3600, ["expiresAt"]),
            ("2027-01-15T08:00:00", nil, 12 * 3600 + 1, 12 * 3600 + 1, []),
            ("2027-01-17T00:00:00", 26 * 3600, 26 * 3600 + 30 * day + 1, 0, ["expiresAt"]),
            ("2027-02-14T08:00:00", 30 * day - 14 * 3600, nil, 31 * day + 12 * 3600, []),
            ("2027-02-14T08:00:01", nil, nil, 0, ["sendAtLocal"]),
            ("2027-02-30T08:00:00", nil, nil, 0, ["sendAtLocal"]),
        ] as [(String, Double?, Double?, Double, [String])])
    func timesOfRecipients(
        _ text: String, _ start: Double?, _ expiry: Double?, _ expected: Double, _ wrong: [String]
    ) throws {
        let request = Self.request {
            $0.sendAtLocal = text
            $0.expiresAt = expiry.map { Self.now + $0 }
        }
        #expect(refused(request) == wrong)
        guard wrong.isEmpty else { return }
        let push = try PushRules.validate(request, payload: [0x7B], now: Self.now)
        #expect(push.sendAt == start.map { Self.now + $0 } && push.content.expiresAt == Self.now + expected)
        #expect(push.content.timing.sendAt?.text == text)
    }

    @Test func everyFaultOfATimeIsNamed() {
        let request = Self.request {
            ($0.sendAt, $0.sendAtLocal) = (Self.now, "2027-01-15T08:00:00")
            $0.fallbackTimeZone = "Mars/Base"
            ($0.quietHours, $0.ignoreQuietHours) = (.init(from: "22:00", to: "7:00"), true)
            $0.capPerDay = 0
        }
        #expect(
            refused(request) == ["sendAtLocal", "fallbackTimeZone", "quietHours", "ignoreQuietHours", "capPerDay"])
        #expect(refused(Self.request { $0.fallbackTimeZone = String(repeating: "x", count: 65) }).count == 1)
    }

    @Test func theLowerCapCounts() throws {
        func cap(_ own: Int?, of caller: Int?, _ type: PushType = .alert) throws -> Int? {
            let request = Self.request {
                ($0.capPerDay, $0.pushType) = (own, type)
                if type == .background { $0.payload = Self.background }
            }
            let caller = PushCaller(name: "news", bundleIDs: [], types: [], capPerDay: caller)
            return try PushRules.validate(request, payload: [0x7B], of: caller, now: Self.now).content.capPerDay
        }
        for (own, caller, expected) in [
            (nil, nil, nil), (3, nil, 3), (nil, 4, 4), (3, 4, 3), (5, 4, 4),
        ] as [(Int?, Int?, Int?)] {
            #expect(try cap(own, of: caller) == expected)
        }
        #expect(try cap(nil, of: 4, .background) == nil && cap(9, of: 4, .voip) == 9)
        for cap in [-1, 0, 101] { #expect(refused(Self.request { $0.capPerDay = cap }) == ["capPerDay"]) }
    }

    // MARK: - Templates

    private static func templated(
        _ arguments: [String: String]?, name: String = "order", _ change: (inout PushRequest) -> Void = { _ in }
    ) -> PushRequest {
        request {
            ($0.payload, $0.template) = (nil, .init(name: name, arguments: arguments))
            change(&$0)
        }
    }

    private static func templates(_ files: [String: String]) throws -> PushTemplates {
        PushTemplates(["order": try PushTemplateTests.template(files)])
    }

    @Test func aTemplateIsRenderedInEachLocale() throws {
        let files = ["en": #"{"a": "Order {{n}}"}"#, "de": #"{"a": "Bestellung {{n}}"}"#]
        let content = try PushRules.validate(
            Self.templated(["n": "1\""]), payload: [], templates: Self.templates(files), now: Self.now
        ).content
        let (english, german) = (#"{"a":"Order 1\""}"#, #"{"a":"Bestellung 1\""}"#)
        #expect(content.payload == Array(english.utf8))
        for (locale, expected) in [("de-AT", german), ("en-GB", english), ("fr", english), (nil, english)] {
            #expect(content.payload(for: locale) == Array(expected.utf8))
        }
        let only = try PushRules.validate(
            Self.templated(nil), payload: [], templates: Self.templates(["en": "{}"]), now: Self.now
        ).content
        #expect(only.localizedPayloads.isEmpty && only.payload(for: "de") == Array("{}".utf8))
    }

    @Test func everyArgumentAndLocaleIsChecked() throws {
        let templates = try Self.templates(["en": #"{"a": "{{n}} {{m}}"}"#, "de": "{}"])
        func refused(_ request: PushRequest) -> [String] { self.refused(request, payload: [], templates: templates) }
        #expect(refused(Self.templated(["n": "1", "m": "2"])).isEmpty)
        #expect(refused(Self.templated(nil)) == ["template.arguments.m", "template.arguments.n"])
        #expect(
            refused(Self.templated(["n": "1", "o": "", "p": ""]))
                == ["template.arguments.m", "template.arguments.o", "template.arguments.p"])
        #expect(refused(Self.templated([:], name: "other")) == ["template.name"])
        let long = String(repeating: "x", count: 4096)
        #expect(refused(Self.templated(["n": long, "m": ""])) == ["template"])
        #expect(refused(Self.templated(["n": long, "m": ""]) { $0.pushType = .voip }).isEmpty)
        // Longer in JSON than as a text.
        #expect(refused(Self.templated(["n": String(repeating: "\n", count: 2050), "m": ""])) == ["template"])
        for request in [Self.request { $0.payload = nil }, Self.templated(nil) { $0.payload = .object([:]) }] {
            #expect(refused(request) == ["payload"])
        }
    }

    @Test func allLocalesTogetherAreBounded() throws {
        var files: [String: String] = ["en": #"{"a": "{{n}}"}"#]
        for number in 1..<40 { files["a\(number)"] = files["en"] }
        let templates = try Self.templates(files)
        for (length, wrong) in [(3200, []), (3300, ["template"])] {
            let request = Self.templated(["n": String(repeating: "x", count: length)])
            #expect(refused(request, payload: [], templates: templates) == wrong)
        }
    }

    /// One push has one kind of receivers.
    @Test func localesOfALiveActivityAgree() throws {
        func refused(_ files: [String: String]) throws -> [String] {
            try self.refused(
                Self.templated(["t": "x"]) { $0.pushType = .liveactivity }, payload: [],
                templates: Self.templates(files))
        }
        let end = #"{"aps": {"event": "end", "timestamp": 1800000000, "x": "{{t}}"}}"#
        #expect(try refused(["en": end, "de": end]).isEmpty)
        #expect(try refused(["en": end, "de": end.replacing("end", with: "update")]) == ["template"])
        #expect(try refused(["en": end, "de": "{}"]) == ["template", "template", "template"])
    }

    @Test func recipientsAreBoundedAndStandInTheirBuckets() throws {
        let users = (0..<1001).map { _ in UUID() }
        #expect(refused(Self.request { $0.targets = .init() }) == ["targets"])
        #expect(refused(Self.request { $0.targets = .init(users: users) }) == ["targets"])
        let (user, device) = (UUID(), UUID())
        let session = UUID.session(of: user)
        let request = Self.request {
            $0.targets = .init(users: [user], sessions: [session], devices: [.init(user: user, device: device)])
        }
        let recipients = try PushRules.validate(request, payload: [0x7B], now: Self.now).recipients
        #expect(recipients.map(\.kind) == [.user, .session, .device])
        #expect(recipients.map(\.id) == [user, session, device])
        #expect(Set(recipients.map(\.bucket)) == [Bucket(user: user)])
    }

    @Test func everyFaultIsNamed() {
        let request = Self.request {
            $0.targets = .init()
            $0.bundleId = "a b"
            $0.environment = PushEnvironment(rawValue: "moon")
        }
        #expect(refused(request, payload: []) == ["targets", "bundleId", "environment", "payload"])
    }

    @Test func keysAreVisibleAndBounded() {
        for key in ["", "a b", "ä", String(repeating: "k", count: 256)] { #expect(!PushRules.isKey(key)) }
        for key in ["k", UUID().uuidString, String(repeating: "k", count: 255)] { #expect(PushRules.isKey(key)) }
    }

    /// The same id for each repetition, so that Apple and its logs can recognise one. Computed with Python's
    /// `uuid.uuid5`, whose name is the device's bytes.
    @Test func theIdIsAUUIDv5() throws {
        let push = try #require(UUID(uuidString: "6ba7b810-9dad-11d1-80b4-00c04fd430c8"))
        let device = try #require(UUID(uuidString: "9b2d7c14-1f0a-4f57-8a3e-52d1f0a3c9b6"))
        #expect(PushRules.id(of: push, on: device).uuidString.lowercased() == "19f5b93c-f870-5f62-b362-e118b5ca2ccc")
        #expect(PushRules.id(of: push, on: UUID()) != PushRules.id(of: push, on: device))
    }

    @Test func aReplayHasANewExpiration() throws {
        #expect(try PushRules.validate(PushReplay(), now: Self.now) == Self.now + Self.day)
        for (offset, isGood) in [(1.0, true), (0, false), (30 * Self.day, true), (30 * Self.day + 1, false)] {
            let replay = PushReplay(expiresAt: Self.now + offset)
            #expect(((try? PushRules.validate(replay, now: Self.now)) != nil) == isGood, "\(offset)")
        }
    }
}
