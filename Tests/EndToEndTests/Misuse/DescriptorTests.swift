import Foundation
import GatehouseServiceContracts
import NIOCore
import NIOPosix
import Synchronization
import TestKit
import Testing

extension SystemTests {
    /// A process with a low limit of open files, which clients try to exhaust.
    @Suite struct Descriptors {
        let system = GatehouseSystem.current

        @Test(
            "Idle connections end no process and leave its admin port usable",
            arguments: [200, 64], ["identity", "devices"])
        func idle(openFiles: Int, program: String) async throws {
            try await system.withReplica(of: program, openFiles: openFiles) { process in
                try await process.start()
                let admin = TestHTTPClient(process.adminURL)
                let answers = Answers()
                // These are accepted before the process has none left for others, and need the database afterwards.
                let callers = try await connections(20, to: process.url, answers)
                let idle = try await connections(260, to: process.url, answers)
                let request = ByteBuffer(string: rawRequest(to: program))
                for caller in callers { caller.writeAndFlush(request, promise: nil) }
                try await eventually("eight are answered") {
                    try expectRunning(process)
                    return answers.count >= 8
                }
                #expect(try await admin.get("/livez").status == 200)
                for channel in callers + idle { channel.close(promise: nil) }
                try await eventually("\(program) answers again") {
                    try expectRunning(process)
                    // A request may time out behind the connections that are still being closed.
                    return (try? await ask(process)) == (program == "identity" ? 401 : 200)
                }
            }
        }

        private func expectRunning(_ process: ServiceProcess) throws {
            if !process.isRunning { throw TestKitError("\(process.name) ended:\n\(process.logText)") }
        }

        private static let login = #"{"identifier":"nobody@example.com","password":"of no account"}"#

        private func headers(to program: String) -> [String: String] {
            [
                HeaderName.credential: system.settings["GATEWAY_\(program.uppercased())_CREDENTIAL"] ?? "",
                HeaderName.userID: UUID().uuidString, HeaderName.sessionID: UUID().uuidString,
            ]
        }

        /// A request that needs the database.
        private func ask(_ process: ServiceProcess) async throws -> Int {
            let client = TestHTTPClient(process.url)
            let headers = headers(to: process.program)
            if process.program == "devices" { return try await client.get("/v1/devices", headers: headers).status }
            return try await client.post("/v1/auth/login", text: Self.login, headers: headers).status
        }

        /// The same as bytes.
        private func rawRequest(to program: String) -> String {
            let fields = headers(to: program).map { "\($0): \($1)\r\n" }.joined()
            if program == "devices" { return "GET /v1/devices HTTP/1.1\r\nHost: a\r\n\(fields)\r\n" }
            return """
                POST /v1/auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
                Content-Length: \(Self.login.utf8.count)\r\n\(fields)\r\n\(Self.login)
                """
        }

        private func connections(_ count: Int, to url: URL, _ answers: Answers) async throws -> [any Channel] {
            let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(AnswerCounter(answers: answers))
                    }
                }
            var channels: [any Channel] = []
            for _ in 1...count {
                channels.append(try await bootstrap.connect(host: "127.0.0.1", port: url.port ?? 0).get())
            }
            return channels
        }
    }
}

private final class Answers: Sendable {
    private let storage = Mutex(0)

    var count: Int { storage.withLock(\.self) }

    func add() { storage.withLock { $0 += 1 } }
}

/// Counts the answers of connections that send one request each at most.
private final class AnswerCounter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let answers: Answers
    private var hasAnswer = false

    init(answers: Answers) { self.answers = answers }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !hasAnswer { answers.add() }
        hasAnswer = true
    }
}
