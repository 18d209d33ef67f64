import Foundation
import TestKit
import Testing

@testable import GatehouseClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension SystemTests {
    /// Processes of their own, as an app and its extension or two command-line tools are.
    @Suite struct ClientSharedStores {
        private static let processes = 3
        private static let rounds = 100

        @Test("Processes that share a file refresh together: one session, and nobody is signed out")
        func together() async throws {
            let (file, gateway) = (Self.newFile(), Self.gateway)
            defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
            let client = try Self.client(gateway, file)
            try await client.register(identifier: Journey.uniqueEmail(), password: Journey.password)
            let first = try await client.session.accessToken()

            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<Self.processes {
                    group.addTask {
                        await #expect(processExitsWith: .success) {
                            [
                                gateway = gateway as URL, path = file.path as String, rounds = Self.rounds as Int
                            ] in
                            let client = try ClientSharedStores.client(gateway, URL(filePath: path))
                            for _ in 0..<rounds {
                                try await client.session.renewOnce()
                                let status = try await client.getProfile()
                                guard status == 200 else { throw TestKitError("\(status)") }
                            }
                            guard await client.session.state.user != nil else { throw TestKitError("signed out") }
                        }
                    }
                }
            }
            // The one that was idle takes over what they have left.
            #expect(try await client.session.accessToken(after: first) != first)
            #expect(try await client.getProfile() == 200)
            #expect(try await client.sessions().count == 1)
            let stored = try StoredState(data: Data(contentsOf: file))
            #expect(stored.session?.accessToken == (try await client.session.accessToken()).value)
        }

        @Test("Processes killed at any moment of a refresh leave a session that goes on")
        func killed() async throws {
            let (file, gateway) = (Self.newFile(), Self.gateway)
            defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
            try await Self.client(gateway, file).register(
                identifier: Journey.uniqueEmail(), password: Journey.password)
            for _ in 0..<8 {
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [gateway = gateway as URL, path = file.path as String] in
                    let client = try ClientSharedStores.client(gateway, URL(filePath: path))
                    try await client.session.start()
                    Thread.detachNewThread {
                        usleep(UInt32.random(in: 0...40_000))
                        kill(getpid(), SIGKILL)
                    }
                    while true { try await client.session.renewOnce() }
                }
                let next = try Self.client(gateway, file)
                try await next.session.renewOnce()
                #expect(try await next.getProfile() == 200)
            }
        }

        /// In a folder of its own.
        private static func newFile() -> URL {
            FileManager.default.temporaryDirectory.appending(path: "gatehouse-client-\(UUID().uuidString)/session.json")
        }

        private static var gateway: URL { GatehouseSystem.current.process("gateway").url }

        static func client(_ gateway: URL, _ file: URL) throws -> GatehouseClient {
            try GatehouseClient(
                configuration: GatehouseConfiguration(baseURL: gateway, store: FileTokenStore(file: file)))
        }
    }
}
