/// The position of a reader of a feed: the last entry that it has read, by number and tag.
package enum FeedCursor: Sendable, Hashable {
    /// Before the oldest entry that the feed keeps.
    case oldest
    /// After the entry with this number. Its random tag tells it from another entry that received the same number
    /// later, after a restore or a fail-over that lost entries. Number 0 stands before the first entry that ever was.
    case after(number: Int64, tag: Int64)

    /// The position of a reader that has read an empty feed.
    package static let nothing = Self.after(number: 0, tag: 0)

    /// Opaque to readers.
    package var text: String {
        switch self {
        case .oldest: "oldest"
        case .after(let number, let tag): "\(number)-\(String(UInt64(bitPattern: tag), radix: 16))"
        }
    }

    /// Parses the format of `text`; `nil` for any other text, such as the cursor of another version.
    package init?(text: String) {
        if text == Self.oldest.text {
            self = .oldest
            return
        }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int64(parts[0]), number >= 0, let tag = UInt64(parts[1], radix: 16) else {
            return nil
        }
        self = .after(number: number, tag: Int64(bitPattern: tag))
        // One text for each position: no signs, leading zeros or capitals.
        guard self.text == text else { return nil }
    }

    /// The number of the last entry that was read.
    package var number: Int64 {
        switch self {
        case .oldest: 0
        case .after(let number, _): number
        }
    }

    /// Whether a reader can continue here: it has missed no entry, and has read none that was lost since.
    ///
    /// - Parameters:
    ///   - tag: the tag of the entry with the cursor's number; `nil` where the feed has no such entry.
    ///   - first: the number of the oldest entry; `nil` where the feed is empty.
    package func continues(where tag: Int64?, first: Int64?) -> Bool {
        switch self {
        case .oldest: true
        case .after(0, _): self == .nothing && first ?? 1 == 1
        case .after(_, let own): tag == own
        }
    }
}
