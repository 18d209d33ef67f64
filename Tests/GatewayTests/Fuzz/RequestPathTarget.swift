import GatehouseBytes
import GatehouseServiceContracts
import NIOCore

@testable import GatewayService

/// Bytes of a client on their way through the gateway: head, canonical path, route, body, the head that is forwarded.
enum RequestPathTarget {
    static func check(_ bytes: [UInt8]) throws(Finding) {
        let read = OurReader.requests(bytes)
        guard !read.isEmpty else { return }
        try HTTPMessage.compare(read.map(\.message), LLHTTPReader.requests(bytes), bytes)
        for (message, head, bytes) in read {
            try checkPrefixes(of: bytes)
            try checkPath(Array(bytes[head.path]))
            try checkForwarding(message, head, bytes)
        }
    }

    // MARK: The head

    /// A head that ends early needs more, wherever it ends: it is neither taken nor refused for what is missing.
    private static func checkPrefixes(of bytes: [UInt8]) throws(Finding) {
        for count in [bytes.count / 3, bytes.count / 2, bytes.count - 1] {
            var head = RequestHead()
            do {
                let length = try bytes[..<count].withUnsafeBytes { try head.scan($0) }
                try Finding.unless(length == nil, "a part of a head is taken for a whole one")
            } catch let finding as Finding {
                throw finding
            } catch {
                throw Finding("a part of a good head is refused: \(error)")
            }
        }
    }

    // MARK: The path

    /// Read by a server that decodes once, or twice, it has the same segments.
    private static func checkPath(_ path: [UInt8]) throws(Finding) {
        var text = path
        for _ in 0..<3 {
            let segments = text.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            try Finding.unless(segments.first?.isEmpty == true, "a path that does not begin with a slash")
            try Finding.unless(
                segments.count == path.count(where: { $0 == UInt8(ascii: "/") }) + 1, "an escaped slash")
            for (index, segment) in segments.enumerated().dropFirst() {
                try Finding.unless(!segment.isEmpty || index == segments.count - 1, "an empty segment")
                let plain = String(decoding: segment, as: UTF8.self)
                try Finding.unless(plain != "." && plain != "..", "a segment of dots")
                try Finding.unless(
                    !segment.contains { $0 < 0x20 || $0 == 0x7F || "\\;#?".utf8.contains($0) },
                    "a byte that separates or controls")
            }
            text = decoded(text)
        }
    }

    private static func decoded(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "%"), index + 2 < text.count, let high = Hexadecimal.value(text[index + 1]),
                let low = Hexadecimal.value(text[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(text[index])
                index += 1
            }
        }
        return result
    }

    // MARK: What goes on

    private static let table: RouteTable = {
        func route(
            _ path: String, isPrefix: Bool = true, strips: Bool = false, rewritten: String? = nil
        ) -> Route {
            Route(
                name: path, pattern: PathPattern(path, isPrefix: isPrefix)!, methods: .all, authentication: .none,
                roles: [], target: .liveness, bodyLimit: 1 << 20, timeout: .seconds(1), stripsPrefix: strips,
                rewrittenPrefix: rewritten, forwardsAuthorization: false)
        }
        return try! RouteTable([
            route("/v1/auth/me", isPrefix: false), route("/v1/auth/sessions/{id}"), route("/team", strips: true),
            route("/old", rewritten: "/new/place"), route("/"),
        ])
    }()

    private static func checkForwarding(
        _ message: HTTPMessage, _ head: RequestHead, _ bytes: [UInt8]
    ) throws(Finding) {
        let path = Array(bytes[head.path])
        let match = path.withUnsafeBytes { table.match(path: $0, method: head.method) }
        guard case .route(let route, let forwardedPath) = match else { return }
        let prefix = route.prefixReplacement ?? []
        let forwarded = String(decoding: decoded(prefix + path[forwardedPath]), as: UTF8.self).lowercased()
        try Finding.unless(
            forwarded != "/internal" && !forwarded.hasPrefix("/internal/"), "a path that reaches /internal")

        let wire = wire(message, head, bytes, prefix, forwardedPath)
        let theirs = try LLHTTPReader.requests(wire)
        try Finding.unless(
            theirs.count == 1, "the service reads \(theirs.count) requests: \(String(decoding: wire, as: UTF8.self))")
        try Finding.unless(
            theirs[0].isComplete == message.isComplete && theirs[0].body == message.body,
            "the service reads another body: \(String(decoding: wire, as: UTF8.self))")
        try checkFields(theirs[0].fields, head)
    }

    /// The request as the service behind would be sent it.
    private static func wire(
        _ message: HTTPMessage, _ head: RequestHead, _ bytes: [UInt8], _ pathPrefix: [UInt8],
        _ forwardedPath: Range<Int>
    ) -> [UInt8] {
        let forwarded = ForwardedRequestHead(
            upstreamLines: Array("Host: upstream\r\n".utf8), forwardsAuthorization: false,
            pathPrefix: pathPrefix, forwardedPath: forwardedPath, identity: nil, bearerError: nil, client: .unknown,
            isSecure: false,
            requestID: Array("0123456789abcdef".utf8), trace: TraceParent(high: 1, low: 2, flags: 1), span: 3,
            continuesTrace: true, upgrades: false)
        var buffer = bytes.withUnsafeBytes { forwarded.write(head, $0) }
        buffer.writeString("\r\n")
        if head.framing == .chunked {
            if !message.body.isEmpty {
                buffer.writeString("\(String(message.body.count, radix: 16))\r\n")
                buffer.writeBytes(message.body)
                buffer.writeString("\r\n")
            }
            if message.isComplete { buffer.writeString("0\r\n\r\n") }
        } else {
            buffer.writeBytes(message.body)
        }
        return Array(buffer: buffer)
    }

    /// Whatever a client sent, what only the gateway says stands there once, or not at all.
    private static func checkFields(_ fields: [String], _ head: RequestHead) throws(Finding) {
        var counts: [String: Int] = [:]
        for field in fields {
            let name = field.prefix { $0 != ":" }.lowercased()
            counts[String(name.map { $0.isLetter || $0.isNumber ? $0 : "-" }), default: 0] += 1
        }
        for name in [
            "host", "x-request-id", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "traceparent",
            "gatehouse-request-id", "gatehouse-client-address",
        ] {
            try Finding.unless(counts[name] == 1, "\(name) stands \(counts[name] ?? 0) times")
        }
        for name in [
            "authorization", "connection", "te", "trailer", "upgrade", "expect", "proxy-authorization", "forwarded",
            "gatehouse-user-id", "gatehouse-role", "gatehouse-credential",
        ] {
            try Finding.unless(counts[name] == nil, "\(name) goes through")
        }
        let lengths = counts["content-length"] ?? 0
        let codings = counts["transfer-encoding"] ?? 0
        try Finding.unless(
            head.framing == .chunked ? (lengths, codings) == (0, 1) : codings == 0 && lengths <= 1,
            "\(lengths) lengths and \(codings) codings")
    }
}
