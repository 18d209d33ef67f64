import Logging

/// The line of one response in the access log. It holds no query, field or body, because these may be secret.
struct AccessLine {
    var requestID: [UInt8]
    /// Empty, like `path`, where the request's head could not be read.
    var method = ""
    /// Without the query.
    var path: [UInt8] = []
    var client: ClientAddress
    var isHTTP2: Bool
    /// `nil`: no route was found.
    var route: String?
    /// `nil`: an HTTP/2 stream that was reset instead.
    var status: Int?
    /// From the request's head to the end of its response.
    var nanoseconds: Int64
    /// From forwarding the request to the head of its response.
    var upstreamNanoseconds: Int64?
    /// Of the bodies.
    var bytesIn = 0
    var bytesOut = 0
    /// Why the gateway responded by itself, as labelled in the metrics.
    var refusal: String?
    var traceID: String?
    /// The gateway's own span, where the trace is recorded.
    var spanID: String?

    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "request_id": "\(String(decoding: requestID, as: UTF8.self))",
            "client": "\(String(decoding: client.text, as: UTF8.self))",
            "protocol": isHTTP2 ? "HTTP/2" : "HTTP/1.1",
            "durationMs": "\(nanoseconds / 1_000_000)", "bytesIn": "\(bytesIn)", "bytesOut": "\(bytesOut)",
        ]
        if !method.isEmpty { metadata["method"] = "\(method)" }
        if !path.isEmpty { metadata["path"] = "\(LoggedPath.text(of: path))" }
        if let route { metadata["route"] = "\(route)" }
        if let status { metadata["status"] = "\(status)" }
        if let upstreamNanoseconds { metadata["upstreamMs"] = "\(upstreamNanoseconds / 1_000_000)" }
        if let refusal { metadata["refusal"] = "\(refusal)" }
        if let traceID { metadata["trace_id"] = "\(traceID)" }
        if let spanID { metadata["span_id"] = "\(spanID)" }
        return metadata
    }
}

extension Worker {
    /// Writes an entry to the access log: for a share of all responses, for every failure of a service, and for every
    /// recorded trace.
    ///
    /// - Returns: the line; `nil` where it is not written.
    @discardableResult
    func logAccess(always: Bool = false, _ line: @autoclosure () -> AccessLine) -> AccessLine? {
        let share = gateway.settings.accessLogShare
        // 53 random bits, which is the precision of a double, make a number from 0 up to but excluding 1.
        guard always || (share > 0 && Double(random.next() >> 11) < share * 0x1p53) else { return nil }
        let line = line()
        gateway.logger.info("request", metadata: line.metadata)
        return line
    }
}

/// Removes segments that may be tokens from a logged path.
///
/// Clients put tokens into paths by mistake. A UUID has 36 characters and every token is longer, so segments above
/// `longestSegment` are left out.
enum LoggedPath {
    private static let longestSegment = 40
    private static let longestPath = 1024

    /// - Parameter path: without the query.
    static func text(of path: [UInt8]) -> String {
        path.prefix(longestPath)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { $0.count > longestSegment ? "…" : String(decoding: $0, as: UTF8.self) }
            .joined(separator: "/")
    }
}
