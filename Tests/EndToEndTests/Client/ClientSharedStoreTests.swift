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

        @Test("Processes that share a file refresh together: one session, and no sign-out")
        func together() async throws {
            let (file, gateway) = (Self.newFile(), Self.gateway)
            defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
            let client = try Self.client(gateway, file)
            try await client.register(identifier: Journey.uniqueEmail(), password: Journey.password)
            let first = try await client.session.accessToken()

            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<Self.processes {
                    group.addTask {
                        Self.tellFailure(
                            of: await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
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
                            })
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

        @Test("Sign-ins, sign-outs and /me beside the refreshes: only a sign-out ends a session")
        func comingAndGoing() async throws {
            let (file, gateway, identifier) = (Self.newFile(), Self.gateway, Journey.uniqueEmail())
            defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
            try await Self.client(gateway, file).register(identifier: identifier, password: Journey.password)

            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        Self.tellFailure(
                            of: await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                                [
                                    gateway = gateway as URL, path = file.path as String, rounds = Self.rounds as Int
                                ] in
                                try await ClientSharedStores.use(gateway, URL(filePath: path), rounds: rounds)
                            })
                    }
                }
                group.addTask {
                    Self.tellFailure(
                        of: await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                            [gateway = gateway as URL, path = file.path as String, identifier = identifier as String] in
                            try await ClientSharedStores.comeAndGo(gateway, URL(filePath: path), as: identifier)
                        })
                }
            }
            // The last sign-in is the one that is stored, and all others have ended at the server.
            let next = try Self.client(gateway, file)
            #expect(try await next.getProfile() == 200)
            try await eventually("one session is left") { try await next.sessions().count == 1 }
            await next.session.settle()
            #expect(try StoredState(data: Data(contentsOf: file)).session != nil)
        }

        /// Tells what a process said that ended otherwise than it should.
        private static func tellFailure(of result: ExitTest.Result?) {
            guard let result, result.exitStatus != .exitCode(EXIT_SUCCESS) else { return }
            Issue.record("\(String(decoding: result.standardErrorContent, as: UTF8.self))")
        }

        /// Renews, changes the profile and asks who the user is; signs in again never.
        static func use(_ gateway: URL, _ file: URL, rounds: Int) async throws {
            var client = try client(gateway, file)
            for round in 0..<rounds {
                do throws(GatehouseError) {
                    _ = try await client.session.accessToken(after: client.session.accessToken())
                    try await client.updateProfile(displayName: "Ada \(round)")
                    try await client.me()
                } catch {
                    guard error.kind == .signedOut || error.kind == .sessionEnded else { throw error }
                    if case .signedOut(let reason?) = await client.session.state, reason != .otherProcess {
                        throw TestKitError("\(reason)")
                    }
                    // The app is started anew until a user has signed in.
                    await client.session.settle()
                    client = try Self.client(gateway, file)
                }
            }
            await client.session.settle()
        }

        /// Signs in again and again, now and then after a sign-out.
        static func comeAndGo(_ gateway: URL, _ file: URL, as identifier: String) async throws {
            let client = try client(gateway, file)
            for time in 0..<8 {
                if time % 2 == 0 { try await client.signOut() }
                try await client.signIn(identifier: identifier, password: Journey.password)
                for _ in 0..<3 {
                    let status = try await client.getProfile()
                    guard status == 200 else { throw TestKitError("\(status)") }
                    try await client.session.renewOnce()
                }
            }
            await client.session.settle()
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
