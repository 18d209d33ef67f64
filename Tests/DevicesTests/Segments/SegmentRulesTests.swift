import Foundation
import GatehouseServiceContracts
import Testing

@testable import DevicesService

@Suite struct SegmentRulesTests {
    private static func request(_ segment: PushSegment?, _ change: (inout PushRequest) -> Void = { _ in })
        -> PushRequest
    {
        var request = PushRequest(
            targets: .init(segment: segment), bundleId: "com.example.app", pushType: .alert, payload: .object([:]))
        change(&request)
        return request
    }

    private func valid(_ request: PushRequest) throws -> ValidPush {
        try PushRules.validate(request, payload: Array("{}".utf8), now: .now)
    }

    private func refused(_ request: PushRequest) -> [String] {
        do throws(InvalidPush) {
            _ = try PushRules.validate(request, payload: Array("{}".utf8), now: .now)
            return []
        } catch {
            return error.fields.map(\.name)
        }
    }

    @Test func aSegmentIsBulkAndStandsAlone() throws {
        let push = try valid(Self.request(.init()))
        #expect(push.segment == Segment() && push.recipients.isEmpty && push.content.urgency == .bulk)
        #expect(refused(Self.request(.init()) { $0.urgency = .bulk }).isEmpty)
        for urgency in [PushUrgency.urgent, .normal] {
            #expect(refused(Self.request(.init()) { $0.urgency = urgency }) == ["urgency"])
        }
        #expect(refused(Self.request(.init()) { $0.targets.users = [UUID()] }) == ["targets"])
        #expect(refused(Self.request(.init()) { $0.targets.sessions = [UUID()] }) == ["targets"])
        #expect(refused(Self.request(nil)) == ["targets"])
    }

    @Test func everyFieldOfASegmentIsChecked() {
        let wrong = PushSegment(
            locales: ["de", "d e"], timeZones: [""], appVersion: .init(from: "1.x", below: ""), lastSeenSince: .now,
            tags: .init(all: ["a b"], any: []))
        #expect(
            refused(Self.request(wrong)) == [
                "targets.segment.locales", "targets.segment.timeZones", "targets.segment.tags.all",
                "targets.segment.tags.any", "targets.segment.appVersion.from", "targets.segment.appVersion.below",
            ])
        #expect(refused(Self.request(.init(locales: []))) == ["targets.segment.locales"])
        let many = (0...200).map { "Area/\($0)" }
        #expect(refused(Self.request(.init(timeZones: many))) == ["targets.segment.timeZones"])
        #expect(refused(Self.request(.init(timeZones: Array(many.dropLast())))).isEmpty)
    }

    /// A mistyped property would otherwise allow each device.
    @Test(arguments: [#"{"locale": ["de"]}"#, #"{"tags": {"none": []}}"#, #"{"appVersion": {"to": "2"}}"#])
    func anUnknownPropertyIsRefused(_ text: String) {
        #expect(throws: DecodingError.self) { try JSON.decode(PushSegment.self, from: Data(text.utf8)) }
    }

    @Test func aSegmentIsDecodedAsItIsEncoded() throws {
        let segment = PushSegment(
            locales: ["de"], timeZones: ["Europe/Vienna"], appVersion: .init(from: "1", below: "2"),
            lastSeenSince: Date(timeIntervalSince1970: 1_800_000_000), alertsAllowed: false,
            tags: .init(all: ["a"], any: ["b"]))
        #expect(try JSON.decode(PushSegment.self, from: JSON.encode(segment)) == segment)
        #expect(try JSON.decode(PushSegment.self, from: Data("{}".utf8)) == PushSegment())
    }

    @Test func aLanguageMatchesItsRegions() throws {
        let push = try valid(Self.request(.init(locales: ["de", "zh-Hant", "en-US"])))
        let pattern = try Regex(try #require(push.segment?.locales))
        for (locale, isMatch) in [
            ("de", true), ("de-at", true), ("den", false), ("zh-hant-tw", true), ("zh-hans", false), ("en", false),
            ("en-us", true), ("en-us-posix", true), ("x-de", false),
        ] {
            #expect((locale.firstMatch(of: pattern) != nil) == isMatch, "\(locale)")
        }
    }

    @Test(
        arguments: [
            ("2", [2]), ("2.0", [2]), ("2.10.0", [2, 10]), ("0.0", [0]), ("1.0.3", [1, 0, 3]), ("", nil), (".", nil),
            ("1.", nil), ("v1", nil), ("1 2", nil), ("-1", nil), ("999999999999999999", [999_999_999_999_999_999]),
            ("1234567890123456789", nil),
        ] as [(String, [Int64]?)])
    func versionsAreNumbers(_ text: String, _ numbers: [Int64]?) {
        #expect(VersionNumbers.parse(text) == numbers)
    }

    @Test func tagsAreBounded() {
        #expect(SegmentRules.areTags([]) && SegmentRules.areTags(["gold", "beta:2"]))
        #expect(SegmentRules.areTags((0..<50).map { "\($0)" }) && !SegmentRules.areTags((0...50).map { "\($0)" }))
        for tag in ["", "a b", "ä", String(repeating: "t", count: 65)] { #expect(!SegmentRules.areTags([tag])) }
        #expect(SegmentRules.areTags([String(repeating: "t", count: 64)]))
    }

    @Test func aRateIsBounded() throws {
        for rate in [0, -1, 1_000_001] {
            #expect(refused(Self.request(.init()) { $0.ratePerMinute = rate }) == ["ratePerMinute"])
        }
        #expect(try valid(Self.request(.init()) { $0.ratePerMinute = 60 }).ratePerMinute == 60)
    }

    // MARK: - Slices and estimates

    @Test(
        arguments: [(0, 64), (1_048_576, 64), (1_100_000, 128), (10_000_000, 1024), (.max, 1024)] as [(Int, Int)])
    func slicesGrowWithTheRegistrations(_ registrations: Int, _ slices: Int) {
        #expect(SegmentRules.sliceCount(registrations: registrations) == slices)
        #expect(Int(Bucket.count) % slices == 0)
    }

    /// All buckets while they have few registrations; otherwise as many as hold about 100,000.
    @Test(
        arguments: [(0, 4096), (100, 4096), (781, 4096), (783, 4086), (78_125, 40), (10_000_000, 32)] as [(Int, Int)])
    func anEstimateIsBounded(_ sampled: Int, _ buckets: Int) {
        let chosen = SegmentRules.buckets(sampled: sampled)
        #expect(chosen.count == buckets && Set(chosen).count == buckets)
        #expect(chosen.allSatisfy { Bucket(rawValue: $0) != nil })
        #expect(SegmentRules.total(of: 10, in: 4096) == 10 && SegmentRules.total(of: 10, in: 32) == 1280)
    }
}
