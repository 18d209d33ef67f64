import ArgumentParser
import Foundation
import GatehouseClient
import GatehouseServiceContracts
import Synchronization

@testable import GatehouseCommand

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a command takes from the world and gives to it, in a test's hands: a home, a server, a person at the terminal.
final class World: Sendable {
    struct State {
        var output = Data()
        var complaints = Data()
        var requests: [Sent] = []
        var answers: [String: (status: Int, body: Data)] = [:]
        var questions: [Console.Question] = []
        /// What is asked so is answered when something has been printed.
        var held: String?
    }

    /// A request as the server sees it.
    struct Sent: Sendable {
        var line: String
        var url: URL
        var fields: [String: String]
        var body: Data

        var json: String { String(decoding: body, as: UTF8.self) }

        func field(_ name: String) -> String? {
            fields.first { $0.key.lowercased() == name.lowercased() }?.value
        }
    }

    fileprivate let state = Mutex(State())
    let home: URL
    private let environment: [String: String]
    private let input: String
    private let typed: [String]?

    /// - Parameter typed: what the person answers, one question after the other; `nil`: there is no terminal.
    init(input: String = "", typed: [String]? = nil, environment: [String: String] = [:], home: URL? = nil) throws {
        self.home = home ?? Homes.folder.appendingPathComponent(UUID().uuidString)
        self.input = input
        self.typed = typed
        self.environment = ["HOME": self.home.path].merging(environment) { _, given in given }
        answer("POST /v1/auth/login", 200, Sample.auth())
        answer("POST /v1/auth/register", 201, Sample.auth())
        answer("POST /v1/auth/logout", 204)
        answer("GET /v1/auth/me", 200, Sample.user)
    }

    func answer(_ line: String, _ status: Int, _ body: some Encodable) {
        let data = (try? JSON.encode(body)) ?? Data()
        state.withLock { $0.answers[line] = (status, data) }
    }

    func answer(_ line: String, _ status: Int, text: String = "") {
        state.withLock { $0.answers[line] = (status, Data(text.utf8)) }
    }

    /// What is asked so is answered only when the command has printed something.
    func hold(_ line: String) { state.withLock { $0.held = line } }

    /// What is asked so finds no server.
    func silence(_ line: String) { state.withLock { $0.answers[line] = nil } }

    func answer(_ line: String, problem code: ErrorCode) {
        answer(line, code.status, ProblemDocument(Problem(code), requestID: "the-request"))
    }

    /// Runs a command line, as the program's own `main` does.
    ///
    /// - Returns: the exit status.
    @discardableResult
    func run(_ arguments: String...) async -> Int32 { await run(arguments) }

    @discardableResult
    func run(_ arguments: [String]) async -> Int32 {
        let console = Console(
            environment: environment, transport: WorldTransport(world: self), clock: HastyClock(),
            write: { [self] data in state.withLock { $0.output += data } },
            writeError: { [self] data in state.withLock { $0.complaints += data } },
            readInput: { [self] in Data(input.utf8) },
            ask: { [self] question in
                let number = state.withLock { state in
                    state.questions.append(question)
                    return state.questions.count - 1
                }
                return typed.flatMap { $0.indices.contains(number) ? $0[number] : nil }
            },
            timeZone: TimeZone(secondsFromGMT: 0) ?? .current)
        return await Console.$current.withValue(console) {
            do {
                var command = try Gatehouse.parseAsRoot(arguments)
                if var command = command as? any AsyncParsableCommand {
                    try await command.run()
                } else {
                    try command.run()
                }
                return 0
            } catch {
                let code = Gatehouse.exitCode(for: error)
                if !(error is ExitCode) { console.printError(Gatehouse.fullMessage(for: error)) }
                return code.rawValue
            }
        }
    }

    /// What has been printed since this was asked last.
    func output() -> String {
        state.withLock { state in
            defer { state.output = Data() }
            return String(decoding: state.output, as: UTF8.self)
        }
    }

    func complaints() -> String {
        state.withLock { state in
            defer { state.complaints = Data() }
            return String(decoding: state.complaints, as: UTF8.self)
        }
    }

    var questions: [Console.Question] { state.withLock { $0.questions } }

    var requests: [Sent] { state.withLock { $0.requests } }

    /// The newest request of its kind.
    func request(_ line: String) -> Sent? { requests.last { $0.line == line } }
}

/// Where the homes lie. They go when the tests end: a command that has ended may still be finishing its last request.
private enum Homes {
    static let folder: URL = {
        atexit { try? FileManager.default.removeItem(at: Homes.folder) }
        return FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("gatehouse-command-\(UUID().uuidString)")
    }()
}

private struct WorldTransport: GatehouseTransport {
    let world: World

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        guard let url = request.url else { throw URLError(.badURL) }
        let line = "\(request.httpMethod ?? "GET") \(url.path)"
        let sent = World.Sent(
            line: line, url: url, fields: request.allHTTPHeaderFields ?? [:], body: request.httpBody ?? Data())
        let answer = world.state.withLock { state in
            state.requests.append(sent)
            return state.answers[line]
        }
        while world.state.withLock({ $0.held == line && $0.output.isEmpty }) {
            try await Task.sleep(for: .milliseconds(1))
        }
        guard let answer,
            let response = HTTPURLResponse(
                url: url, statusCode: answer.status, httpVersion: "HTTP/1.1",
                headerFields: ["Content-Type": answer.status < 400 ? "application/json" : "application/problem+json"])
        else { throw URLError(.cannotConnectToHost) }
        return (answer.body, response)
    }
}

/// Pauses are over at once; deadlines never come by themselves.
private struct HastyClock: SessionClock {
    var monotonic: Duration { SystemClock().monotonic }
    var wall: Date { Date() }

    func sleep(for duration: Duration) async throws {
        guard duration > .seconds(2) else { return await Task.yield() }
        try await sleep(until: monotonic + duration)
    }

    func sleep(until moment: Duration) async throws {
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        for await _ in never {}
        withExtendedLifetime(end) {}
        throw CancellationError()
    }
}

enum Sample {
    static let user = User(
        id: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)), email: "ada@example.com",
        displayName: "Ada", emailVerified: true, role: "courier", storeIds: ["store-1", "store-2"],
        authProviders: [.password], createdAt: Date(timeIntervalSince1970: 1_700_000_000))

    /// - Parameter secondsLeft: by default long enough for any test.
    static func auth(_ name: String = "secret", secondsLeft: TimeInterval = 3600) -> AuthResponse {
        AuthResponse(
            accessToken: "\(name)-access", refreshToken: "\(name)-refresh", expiresIn: 3600,
            expiresAt: Date(timeIntervalSinceNow: secondsLeft), refreshExpiresIn: 86_400,
            refreshExpiresAt: Date(timeIntervalSinceNow: 86_400), user: user)
    }

    static func session(_ number: UInt8, current: Bool = false, name: String? = nil) -> SessionInfo {
        SessionInfo(
            id: UUID(uuid: (number, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number)), current: current,
            createdAt: Date(timeIntervalSince1970: 1_700_000_000),
            lastUsedAt: Date(timeIntervalSince1970: 1_800_000_000),
            expiresAt: Date(timeIntervalSince1970: 1_900_000_000), device: SessionDevice(name: name),
            ipAddress: "203.0.113.7")
    }
}
