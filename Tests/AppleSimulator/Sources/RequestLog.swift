import Foundation
import Synchronization

/// The requests to the simulator, for tests to inspect.
final class RequestLog: Sendable {
    struct Entry: Codable, Sendable {
        /// In ISO 8601.
        var time: Date
        /// `apple` or `apns`.
        var service: String
        var method: String
        var path: String
        /// The form fields, without the client secret.
        var parameters: [String: String] = [:]
        /// For APNs: the request's header fields.
        var headers: [String: String] = [:]
        /// For APNs: the payload.
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
