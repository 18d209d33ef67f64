import AsyncHTTPClient
import Crypto
import Foundation
import GatehouseServiceContracts
import NIOCore
import NIOHTTP1

/// What a push costs devices and PostgreSQL, from its acceptance to the recorded answer of the simulated APNs, beside
/// h2load and aioapns, which send the same requests and keep nothing.
struct PushBenchmark {
    let system: RunningSystem
    let http: HTTPClient
    /// The command that sends pushes by aioapns, if there is one.
    let aioapns: [String]

    private static let users = 1_000
    private static let usersOfPush = 100
    private static let pushes = 300
    static let bundleID = "com.example.app"
    private static let payload = JSONValue.object(
        ["aps": .object(["alert": .object(["title": .string("Order 7"), "body": .string("It is on its way.")])])])

    func run() async throws {
        let users = (0..<Self.users).map { _ in UUID() }
        for (number, user) in users.enumerated() { try await register(user, number) }
        // The first push verifies the provider token and the tokens.
        try await push(to: users[...])
        Table.header("Pushes")
        let line = try await measured(users)
        Table.line(line)
        try await measureSegment(registered: Self.users)
        try await measureRegistration()
        var notes = ["\(Table.number(line.microsecondsInAll)) µs (target 120)"]
        if Tool.isInstalled("h2load") {
            let peer = try await h2load(requests: line.operations)
            Table.line(peer)
            notes.append("\(Table.ratio(line.microsecondsInAll / peer.microsecondsInAll)) times h2load's (target 4)")
        }
        if !aioapns.isEmpty {
            let peer = try await sendByAioapns(requests: 3000)
            Table.line(peer)
            notes.append("\(Table.ratio(line.microsecondsInAll / peer.microsecondsInAll)) times that of aioapns")
        }
        Table.note("A push costs " + notes.joined(separator: ", "))
    }

    private func measured(_ users: [UUID]) async throws -> Measurement {
        let processes = try system.processes("devices", "postgres")
        let before = try processes.map { try $0.cpuTime() }
        let start = ContinuousClock.now
        var last: [String] = []
        for number in 0..<Self.pushes {
            let first = number * Self.usersOfPush % Self.users
            last = try await [push(to: users[first..<first + Self.usersOfPush], waits: false)]
        }
        for id in last { try await waitUntilDone(id) }
        let after = try processes.map { try $0.cpuTime() }
        return Measurement(
            name: "a push, from acceptance to Apple's answer", operations: Self.pushes * Self.usersOfPush,
            elapsed: .now - start, cpu: zip(processes, zip(before, after)).map { ($0.name, $1.1 - $1.0) })
    }

    // MARK: - Devices

    func register(_ user: UUID, _ number: Int) async throws {
        let session = UUID.session(of: user)
        // Nothing is sent to a device without a live session.
        try await send(
            "POST", "/internal/sessions",
            CreateSessionRequest(
                sessionID: session,
                snapshot: UserSnapshot(
                    user: User(id: user, role: "customer", authProviders: [], createdAt: .now), version: 1),
                credentialsVersion: 1, signInAge: 0),
            [(HeaderName.credential, try system.secret("IDENTITY_TOKENS_SECRET"))], to: "TOKENS_URL")
        try await registerDevice(number, of: user, session: session)
    }

    func registerDevice(
        _ number: Int, of user: UUID, session: UUID, path: String = "/v1/devices/register", status: Int = 200
    ) async throws {
        let registration = Registration(
            token: String(format: "%064x", number), environment: .sandbox, bundleId: Self.bundleID)
        try await send("POST", path, registration, gatewayFields(user, session), status: status...status)
    }

    /// What the gateway adds to a user's request.
    func gatewayFields(_ user: UUID, _ session: UUID) throws -> [(String, String)] {
        [
            (HeaderName.credential, try system.secret("GATEWAY_DEVICES_SECRET")),
            (HeaderName.userID, user.uuidString.lowercased()),
            (HeaderName.sessionID, session.uuidString.lowercased()), (HeaderName.role, "customer"),
            (HeaderName.requestID, RequestID.make()),
        ]
    }

    // MARK: - Pushes

    /// - Returns: the push's id.
    @discardableResult
    private func push(to users: ArraySlice<UUID>, waits: Bool = true) async throws -> String {
        let id = try await push(to: .init(users: Array(users)))
        if waits { try await waitUntilDone(id) }
        return id
    }

    func push(to targets: PushRequest.Targets) async throws -> String {
        guard let id = try await accept(request(to: targets)).id else {
            throw BenchmarkError("a push was not accepted")
        }
        return id
    }

    func request(to targets: PushRequest.Targets) -> PushRequest {
        PushRequest(targets: targets, bundleId: Self.bundleID, pushType: .alert, payload: Self.payload)
    }

    @discardableResult
    func accept(_ request: PushRequest) async throws -> PushAccepted {
        let fields = [
            (HeaderName.credential, try system.pushCredential()), ("Idempotency-Key", UUID().uuidString),
        ]
        return try JSON.decode(PushAccepted.self, from: await send("POST", "/internal/push", request, fields))
    }

    func status(of id: String) async throws -> PushStatus {
        let credential = (HeaderName.credential, try system.pushCredential())
        let body = try await send("GET", "/internal/push/\(id)", String?.none, [credential])
        return try JSON.decode(PushStatus.self, from: body)
    }

    func cancel(_ id: String) async throws {
        let credential = (HeaderName.credential, try system.pushCredential())
        try await send("DELETE", "/internal/push/\(id)", String?.none, [credential])
    }

    /// - Parameter look: is called at each look at the push.
    func waitUntilDone(_ id: String, _ look: () throws -> Void = {}) async throws {
        while true {
            try look()
            let status = try await self.status(of: id)
            if status.state == .done {
                guard Array(status.counts.keys) == ["accepted"] else {
                    throw BenchmarkError("not every push was accepted: \(status.counts)")
                }
                return
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// - Parameter status: the expected ones.
    @discardableResult
    func send(
        _ method: String, _ path: String, _ body: (some Encodable)?, _ fields: [(String, String)] = [],
        to service: String = "DEVICES_URL", status: ClosedRange<Int> = 200...299
    ) async throws -> Data {
        var request = HTTPClientRequest(url: try system.value(service) + path)
        request.method = .init(rawValue: method)
        for (name, value) in fields { request.headers.add(name: name, value: value) }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: try JSON.encode(body)))
        }
        let response = try await http.executeRepeatingOne503(request, timeout: .seconds(60))
        let data = Data((try await response.body.collect(upTo: 1 << 24)).readableBytesView)
        guard status.contains(Int(response.status.code)) else {
            throw BenchmarkError("\(path) answered \(response.status): \(String(decoding: data, as: UTF8.self))")
        }
        return data
    }

    // MARK: - Peers

    /// The same requests over as many connections as a pool has.
    private func h2load(requests: Int) async throws -> Measurement {
        let file = FileManager.default.temporaryDirectory.appending(path: "push-\(UUID().uuidString).json")
        try JSON.encode(Self.payload).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let result = try await Tool.run(
            "h2load", "-n", "\(requests)", "-c", "3", "-m", "300", "-d", file.path(),
            "-H", "authorization: bearer \(try system.providerToken())", "-H", "apns-topic: \(Self.bundleID)",
            "-H", "apns-push-type: alert", "-H", "apns-priority: 10", "-H",
            "apns-id: \(UUID().uuidString.lowercased())",
            "-H", "apns-expiration: \(Int(Date.now.timeIntervalSince1970) + 86_400)",
            "\(try system.apnsURL())/3/device/\(String(format: "%064x", 1))")
        guard result.output.contains(", \(requests) succeeded") else {
            throw BenchmarkError("h2load's requests were refused: \(result.output)")
        }
        return Measurement(
            name: "h2load: the same requests", operations: requests, elapsed: result.elapsed,
            cpu: [("h2load", result.cpu)])
    }

    private func sendByAioapns(requests: Int) async throws -> Measurement {
        let result = try await Tool.run(
            aioapns + [
                try system.apnsURL(), system.keyFilePath("apple-client-secret.p8"), Self.bundleID,
                String(decoding: try JSON.encode(Self.payload), as: UTF8.self), "\(requests)",
            ])
        let seconds = result.output.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard seconds.count == 2 else { throw BenchmarkError("aioapns printed \(result.output)") }
        return Measurement(
            name: "aioapns: the same requests", operations: requests, elapsed: .seconds(seconds[0]),
            cpu: [("python", .seconds(seconds[1]))])
    }
}

extension RunningSystem {
    /// The credential of the service that may push.
    fileprivate func pushCredential() throws -> String {
        guard let match = try keyFile("push-callers.yaml").firstMatch(of: /dev-[0-9a-f]+/) else {
            throw BenchmarkError("no service may push")
        }
        return String(match.0)
    }

    /// The simulated APNs listens beside the simulator.
    fileprivate func apnsURL() throws -> String {
        guard var url = URLComponents(string: try value("APPLE_SIMULATOR_URL")), let port = url.port else {
            throw BenchmarkError("APPLE_SIMULATOR_URL is no URL")
        }
        url.port = port + 1
        return url.string ?? ""
    }

    /// A provider token of the development key (Apple, "Establishing a token-based connection to APNs").
    fileprivate func providerToken() throws -> String {
        let pem = try keyFile("apple-client-secret.p8")
        guard let start = pem.firstRange(of: "-----BEGIN")?.lowerBound else { throw BenchmarkError("no key for APNs") }
        let key = try P256.Signing.PrivateKey(pemRepresentation: String(pem[start...]))
        func encoded(_ data: some DataProtocol) -> String {
            Data(data).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
                "=", with: "")
        }
        let text =
            encoded(Data(#"{"alg":"ES256","kid":"DEVKEY0000"}"#.utf8)) + "."
            + encoded(Data(#"{"iss":"DEVTEAM000","iat":\#(Int(Date.now.timeIntervalSince1970))}"#.utf8))
        return try text + "." + encoded(key.signature(for: Data(text.utf8)).rawRepresentation)
    }
}
