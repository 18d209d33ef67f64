import Foundation
import GatehouseBytes
import GatehouseServiceKit
import Postgres

@testable import GatehouseServiceContracts

/// Something that must never be and yet is.
struct Finding: Error, CustomStringConvertible {
    var description: String
}

/// A type of request, with what its service does to one before it stores anything: it decodes the body, validates it by
/// its rules, and encodes the result for PostgreSQL and for answers.
///
/// Decoding alone finds little, because many values arrive as text and get a meaning only in the rules.
struct RequestType: Sendable {
    let name: String
    /// Bodies that are accepted. They name every member, so that a mutation reaches each.
    let examples: [String]
    /// - Returns: what the service would store.
    /// - Throws: any error, for a body that is refused.
    private let accept: @Sendable ([UInt8]) throws -> [any PostgresEncodable]

    /// - Parameter validate: applies the service's rules to a request, and gets the bytes of its body too.
    init<Request: Codable & SendableMetatype>(
        _ type: Request.Type, _ examples: String...,
        validate: @escaping @Sendable (Request, [UInt8]) throws -> [any PostgresEncodable]
    ) {
        self.init(decoding: type, examples) { request, body in
            // Each request is written too, by identity or by a client.
            _ = try JSON.encode(request)
            return try validate(request, body)
        }
    }

    /// For what a service only reads.
    init<Body: Decodable & SendableMetatype>(
        decoding type: Body.Type, _ examples: [String],
        validate: @escaping @Sendable (Body, [UInt8]) throws -> [any PostgresEncodable]
    ) {
        name = "\(type)"
        self.examples = examples
        accept = { bytes in try validate(StrictJSON.decode(type, from: bytes), bytes) }
    }

    /// - Returns: whether the request is accepted.
    /// - Throws: `Finding` where an accepted request holds a value that cannot be stored.
    func check(_ body: [UInt8]) throws(Finding) -> Bool {
        guard let values = try? accept(body) else { return false }
        for value in values {
            if let date = value as? Date, !(0..<253_402_300_800).contains(date.timeIntervalSince1970) {
                throw Finding(description: "\(name) is accepted with a time of another year than 1970 to 9999")
            }
            var bytes: [UInt8] = []
            do {
                _ = try value.encode(into: &bytes)
            } catch {
                throw Finding(description: "\(name) is accepted with a value that cannot be stored: \(error)")
            }
        }
        return true
    }
}

extension RequestType {
    /// All requests that the services decode: a service's public ones, internal ones, and what peers answer.
    static let all = devices + identity + tokens

    /// - Parameter bytes: the name of a type, a line feed, and a body.
    static func check(_ bytes: [UInt8]) throws(Finding) {
        let parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return }
        let name = String(decoding: parts[0], as: UTF8.self)
        guard let type = all.first(where: { $0.name.isVerbatim(name) }) else { return }
        _ = try type.check(Array(parts[1]))
    }
}
