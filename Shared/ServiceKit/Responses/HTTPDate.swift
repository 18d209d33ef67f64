import Bytes
import Foundation
import Synchronization

/// The `Date` field, written once a second.
final class HTTPDate: Sendable {
    private let cached = Mutex<(second: Int64, text: String)>((-1, ""))

    func now() -> String {
        let second = Int64(time(nil))
        return cached.withLock { cached in
            if cached.second != second {
                cached = (second, UTCTime(secondsSince1970: second).imfFixdate)
            }
            return cached.text
        }
    }
}
