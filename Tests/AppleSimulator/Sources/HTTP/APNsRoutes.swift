import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird

/// The tests' half of APNs: its answers, faults, keys and clock, what it received, and the phones.
struct APNsRoutes: Sendable {
    let simulation: APNsSimulation
    let port: Int

    func add(to router: some RouterMethods<GatehouseRequestContext>) {
        router.on("/simulator/apns", method: .get) { _, _ in
            let connections = simulation.connections
            return try Response.json(
                APNsResponse(port: port, connections: connections.open, allConnections: connections.total))
        }
        router.on("/simulator/apns-answer", method: .post) { request, _ in
            let wanted = try await request.decode(APNsAnswerRequest.self)
            simulation.answers.set(wanted.answer, for: wanted.token, times: wanted.times)
            return try Response.json(wanted)
        }
        router.on("/simulator/apns-fault", method: .post) { request, _ in
            let wanted = try await request.decode(APNsFaultRequest.self)
            guard let fault = wanted.fault else { throw Problem(.invalidRequest, "A value is out of range.") }
            if fault.mode == .none {
                simulation.endFaults(for: wanted.token)
            } else {
                simulation.faults.set(fault, for: wanted.token, times: wanted.times)
            }
            return try Response.json(wanted)
        }
        router.on("/simulator/apns-clock", method: .post) { request, _ in
            simulation.advance(by: try await request.decode(APNsClockRequest.self).advance)
            return try Response.json(APNsClockResponse(now: simulation.now))
        }
        router.on("/simulator/apns-key", method: .post) { request, _ in
            let wanted = try await request.decode(APNsKeyRequest.self)
            simulation.register(try wanted.key(), team: wanted.teamId, identifier: wanted.keyId)
            simulation.refuseUnknownKeys()
            return Response.empty()
        }
        router.on("/simulator/apns-device", method: .post) { request, _ in
            let wanted = try await request.decode(APNsDeviceRequest.self)
            simulation.declare(wanted.token, for: wanted.topic)
            return Response.empty()
        }
        router.on("/simulator/apns-pushes", method: .get) { request, _ in
            let query = request.uri.queryParameters
            let limit = query.get("limit", as: Int.self) ?? APNsPushLog.pageSize
            return try Response.json(
                simulation.pushes.page(
                    after: max(0, query.get("after", as: Int.self) ?? 0),
                    limit: min(max(limit, 1), APNsPushLog.pageSize)))
        }
        router.on("/simulator/phone", method: .get) { request, _ in
            let page = PhonePage(
                simulation.pushes.entries, token: request.uri.queryParameters.get("token"), now: simulation.now)
            var headers = HTTPFields()
            headers[.contentType] = "text/html; charset=utf-8"
            headers[.contentSecurityPolicy] = "default-src 'none'; style-src 'unsafe-inline'"
            return Response(
                status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: page.html)))
        }
    }
}

/// Where APNs listens, for tests that let the system choose the port, and its connections.
private struct APNsResponse: Codable {
    var port: Int
    /// Open now.
    var connections: Int
    /// Since the start.
    var allConnections: Int
}

private struct APNsClockRequest: Codable {
    /// Seconds; negative to go back.
    var advance: Int
}

private struct APNsClockResponse: Codable {
    /// Seconds since 1970.
    var now: Int
}

private struct APNsKeyRequest: Codable {
    var teamId: String
    var keyId: String
    /// PEM. Absent: the key is revoked.
    var publicKey: String?
    /// The bundle identifiers of a topic-specific key. Absent: every topic.
    var topics: [String]?

    func key() throws -> ProviderKey? {
        do {
            return try publicKey.map { try ProviderKey(pem: $0, topics: topics.map(Set.init)) }
        } catch {
            throw Problem(.invalidRequest, "`publicKey` is no P-256 key in PEM.")
        }
    }
}

private struct APNsDeviceRequest: Codable {
    var token: String
    /// The topic that the device token was issued for. Absent: any.
    var topic: String?
}
