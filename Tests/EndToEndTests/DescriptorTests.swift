import Contracts
import Foundation
import NIOCore
import NIOPosix
import TestKit
import Testing

extension SystemTests {
    /// A process whose limit of open files strangers try to reach.
    @Suite struct Descriptors {
        let system = GatehouseSystem.current

        @Test(
            "Idle connections end no process and keep nobody from its admin port",
            arguments: [200, 64], ["identity", "devices"])
        func idle(openFiles: Int, program: String) async throws {
            try await system.withReplica(of: program, openFiles: openFiles) { process in
                try await process.start()
                let admin = TestHTTPClient(process.adminURL)
                try await withIdleConnections(260, to: process.url) {
                    let answers = (1...20).map { _ in Task { try? await ask(process) } }
                    // None is promised an answer yet; the process has to live, and say so.
                    for _ in 1...20 {
                        #expect(try await admin.get("/livez").status == 200)
                        try await Task.sleep(for: .milliseconds(50))
                    }
                    #expect(process.isRunning)
                    return answers
                }.forEach { $0.cancel() }
                try await eventually("\(program) answers again") {
                    guard process.isRunning else { throw TestKitError("\(program) ended:\n\(process.logText)") }
                    return try await ask(process) == (program == "identity" ? 401 : 200)
                }
            }
        }

        /// A request that needs the database.
        private func ask(_ process: ServiceProcess) async throws -> Int {
            let client = TestHTTPClient(process.url)
            let caller = system.settings["GATEWAY_\(process.program.uppercased())_CREDENTIAL"] ?? ""
            let headers = [
                HeaderName.credential: caller, HeaderName.userID: UUID().uuidString,
                HeaderName.sessionID: UUID().uuidString,
            ]
            if process.program == "devices" { return try await client.get("/v1/devices", headers: headers).status }
            return try await client.post(
                "/v1/auth/login", text: #"{"identifier":"nobody@example.com","password":"of no account"}"#,
                headers: headers
            ).status
        }

        private func withIdleConnections<Value>(
            _ count: Int, to url: URL, _ body: () async throws -> Value
        ) async throws -> Value {
            let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            var channels: [any Channel] = []
            for _ in 1...count {
                channels.append(try await bootstrap.connect(host: "127.0.0.1", port: url.port ?? 0).get())
            }
            let value = try await body()
            for channel in channels { try? await channel.close() }
            return value
        }
    }
}
