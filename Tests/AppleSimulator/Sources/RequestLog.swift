import Foundation
import NIOHPACK
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

    /// An entry of a push is made when a test reads it, since a push must cost little.
    private enum Record {
        case entry(Entry)
        case push(time: Date, fields: HPACKHeaders, body: [UInt8], status: Int)

        var entry: Entry {
            switch self {
            case .entry(let entry): entry
            case .push(let time, let fields, let body, let status):
                Entry(
                    time: time, service: "apns", method: fields.first(name: ":method") ?? "",
                    path: fields.first(name: ":path") ?? "", headers: Self.headers(fields),
                    body: String(decoding: body, as: UTF8.self), status: status)
            }
        }

        /// Without the provider token.
        private static func headers(_ fields: HPACKHeaders) -> [String: String] {
            var headers: [String: String] = [:]
            for (name, value, _) in fields where name != "authorization" {
                if name == ":authority" { headers["host"] = value }
                if !name.hasPrefix(":"), headers[name] == nil { headers[name] = value }
            }
            return headers
        }
    }

    private static let maximumCount = 10_000
    private let storage = Mutex<[Record]>([])

    /// The newest entries, oldest first.
    var entries: [Entry] { storage.withLock { $0 }.map(\.entry) }

    func add(_ entry: Entry) { add(.entry(entry)) }

    /// Adds a push.
    func add(fields: HPACKHeaders, body: [UInt8], status: Int) {
        add(.push(time: Date(), fields: fields, body: body, status: status))
    }

    private func add(_ record: Record) {
        storage.withLock { records in
            if records.count >= Self.maximumCount { records.removeFirst(Self.maximumCount / 2) }
            records.append(record)
        }
    }
}
