import Foundation
import Synchronization

/// What the simulator was asked, for tests to look at.
final class RequestLog: Sendable {
    struct Entry: Codable, Sendable {
        /// When, in ISO 8601.
        var time: Date
        /// `apple` or `apns`.
        var service: String
        var method: String
        var path: String
        /// The form's fields, without the client secret.
        var parameters: [String: String] = [:]
        /// For APNs, the request's fields.
        var headers: [String: String] = [:]
        /// For APNs, what was to be shown on the device.
        var body: String?
        var status: Int
    }

    private static let maximumCount = 10_000
    private let storage = Mutex<[Entry]>([])

    /// The newest entries, oldest first.
    var entries: [Entry] { storage.withLock { $0 } }

    func add(_ entry: Entry) {
        storage.withLock { entries in
            if entries.count >= Self.maximumCount { entries.removeFirst(Self.maximumCount / 2) }
            entries.append(entry)
        }
    }
}
