import Foundation
import GatehouseBytes
import GatehouseServiceContracts

/// A segment that is valid: its fields as PostgreSQL compares them. `nil` allows each device.
struct Segment: Sendable, Equatable {
    /// A regular expression for the device's locale in lower case.
    var locales: String?
    var timeZones: [String]?
    var fromVersion: [Int64]?
    var belowVersion: [Int64]?
    var lastSeenSince: Date?
    var alertsAllowed: Bool?
    /// Full names.
    var allTags: [String]?
    var anyTags: [String]?
}

/// The checks of segments and tags, and how a segment is divided and counted.
enum SegmentRules {
    /// Locales or time zones of a segment.
    static let maximumNames = 200
    /// Tags of a user. A segment may name as many in each list.
    static let maximumTags = 50
    static let maximumTag = 64
    static let tagRule = "Must be at most \(maximumTags) tags, each of 1 to \(maximumTag) visible ASCII characters."
    static let maximumRatePerMinute = 1_000_000

    /// - Parameters:
    ///   - tagSpace: of the caller; `nil` for one without tags.
    ///   - report: is told each field that is wrong, and what it must be.
    static func validate(
        _ segment: PushSegment, tagSpace: TagSpace? = nil, report: (String, String) -> Void
    ) -> Segment {
        func names(_ tags: [String]?) -> [String]? {
            tags.map { tags in Set(tags).sorted().map { tagSpace?.name($0) ?? $0 } }
        }
        func check(_ field: String, _ isGood: Bool, _ message: String) {
            if !isGood { report("targets.segment.\(field)", message) }
        }
        func check<Value>(_ field: String, _ list: [Value]?, _ rule: (Value) -> Bool, _ message: String) {
            guard let list else { return }
            check(field, (1...maximumNames).contains(list.count) && list.allSatisfy(rule), message)
        }
        func versions(_ field: String, _ text: String?) -> [Int64]? {
            guard let text else { return nil }
            let numbers = VersionNumbers.parse(text)
            check("appVersion.\(field)", numbers != nil, "Must be numbers with periods between, such as 2.10.")
            return numbers
        }
        check("locales", segment.locales, LanguageTag.isValid, "Must be 1 to \(maximumNames) language tags.")
        check(
            "timeZones", segment.timeZones, { (1...TimeZoneDatabase.maximumLength).contains($0.utf8.count) },
            "Must be 1 to \(maximumNames) names of time zones.")
        for (field, tags) in [("tags.all", segment.tags?.all), ("tags.any", segment.tags?.any)] {
            check(field, tags.map { !$0.isEmpty && areTags($0) } ?? true, "Must not be empty. \(tagRule)")
        }
        return Segment(
            locales: segment.locales.map(pattern), timeZones: segment.timeZones,
            fromVersion: versions("from", segment.appVersion?.from),
            belowVersion: versions("below", segment.appVersion?.below), lastSeenSince: segment.lastSeenSince,
            alertsAllowed: segment.alertsAllowed, allTags: names(segment.tags?.all), anyTags: names(segment.tags?.any))
    }

    static func areTags(_ tags: [String]) -> Bool {
        tags.count <= maximumTags
            && tags.allSatisfy { tag in
                (1...maximumTag).contains(tag.utf8.count) && tag.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            }
    }

    /// A range matches itself, and each tag that begins with it and a hyphen, in any case: basic filtering (RFC 4647
    /// §3.3.1).
    private static func pattern(of ranges: [String]) -> String {
        // A valid tag has letters, digits and hyphens alone.
        "^(" + ranges.map { $0.lowercased() }.joined(separator: "|") + ")(-|$)"
    }

    // MARK: - Slices and estimates

    private static let sliceCounts = 64...1024
    /// Registrations of a slice for which more slices are not worth their rows.
    private static let smallSlice = 16_384
    /// The buckets by which the number of registrations is estimated.
    private static let smallSample = 32
    /// Registrations that an estimate may read.
    static let maximumCount = 100_000

    /// Into how many slices a segment is divided, each with as many buckets.
    ///
    /// - Parameter registrations: about how many there are.
    static func sliceCount(registrations: Int) -> Int {
        var count = sliceCounts.lowerBound
        while count < sliceCounts.upperBound, registrations / count > smallSlice { count *= 2 }
        return count
    }

    /// The buckets of the first, small sample. Users are spread over buckets by a hash, so any buckets are a sample.
    static var sample: [Int16] { sample(of: smallSample) }

    /// The buckets in which an estimate counts: all, if so many registrations may be read.
    ///
    /// - Parameter sampled: registrations in the small sample.
    static func buckets(sampled: Int) -> [Int16] {
        sample(of: max(smallSample, min(Int(Bucket.count), maximumCount * smallSample / max(1, sampled))))
    }

    private static func sample(of count: Int) -> [Int16] {
        (0..<count).map { Int16($0 * Int(Bucket.count) / count) }
    }

    static func total(of counted: Int, in buckets: Int) -> Int { counted * Int(Bucket.count) / buckets }
}

/// The numbers of a version, as of the function `version_numbers` in PostgreSQL.
enum VersionNumbers {
    /// `nil` for a text that is no numbers with periods between. Zeros at the end are left out: 2.0 is 2.
    static func parse(_ text: String) -> [Int64]? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        var numbers: [Int64] = []
        for part in parts {
            guard (1...18).contains(part.count), part.allSatisfy(\.isASCIIDigit), let number = Int64(Substring(part))
            else { return nil }
            numbers.append(number)
        }
        guard numbers.count <= 16 else { return nil }
        while numbers.count > 1, numbers.last == 0 { numbers.removeLast() }
        return numbers
    }
}
