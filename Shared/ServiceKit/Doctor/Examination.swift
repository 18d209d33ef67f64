public import AsyncHTTPClient
public import Foundation
public import Logging
public import NIOCore
import NIOHTTP1

/// What an examination is made with, and what services have alike.
public struct Examination: Sendable {
    public let httpClient: HTTPClient
    public let eventLoopGroup: any EventLoopGroup
    /// Drops everything: what is wrong is told by findings.
    public let logger = Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() }
    /// How long an answer may take.
    let patience = Duration.seconds(3)

    public init(httpClient: HTTPClient, eventLoopGroup: any EventLoopGroup) {
        self.httpClient = httpClient
        self.eventLoopGroup = eventLoopGroup
    }

    /// An answer, and how far the clock of whoever gave it was from this machine's.
    public struct Reply: Sendable {
        public let status: Int
        public let body: String
        /// Seconds that the other clock is ahead; `nil` where no `Date` came.
        let ahead: TimeInterval?
    }

    /// Asks for something over HTTP.
    ///
    /// - Throws: why there was no answer.
    public func ask(
        _ url: String, method: String = "GET", headers: [(String, String)] = [], json: String? = nil
    ) async throws -> Reply {
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method)
        request.headers = HTTPHeaders(headers)
        if let json {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: json))
        }
        let sent = Date.now
        let answer = try await httpClient.exchange(request, upTo: 4 << 20, before: .after(patience))
        let middle = sent.addingTimeInterval(Date.now.timeIntervalSince(sent) / 2)
        // The field has whole seconds, so on average its clock is half of one further.
        let ahead = answer.headers.first(name: "Date").flatMap(ClockFinding.date).map {
            $0.addingTimeInterval(0.5).timeIntervalSince(middle)
        }
        return Reply(status: answer.status, body: String(buffer: answer.body), ahead: ahead)
    }

    /// How old a file is, and who may read it.
    ///
    /// - Parameters:
    ///   - what: as in "The refresh keys".
    ///   - remedy: how what it holds is replaced.
    public func age(of what: String, in path: String, remedy: String, now: Date = .now) -> Finding {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard let changed = attributes?[.modificationDate] as? Date else {
            return .problem(
                "\(what) cannot be looked at: \(path).", remedy: "Give the service's user the right to read it.")
        }
        return KeyAge.finding(what, age: now.timeIntervalSince(changed), verb: "were last changed", remedy: remedy)
    }
}
