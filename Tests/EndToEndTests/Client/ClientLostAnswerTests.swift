import Foundation
import Synchronization
import TestKit
import Testing

@testable import GatehouseClient

extension SystemTests {
    @Suite struct ClientLostAnswers {
        private struct Position: Sendable {
            var direction: CuttingProxy.Direction
            var byte: Int
        }

        /// What is left to try, for all workers.
        private final class Work: Sendable {
            private let state: Mutex<(positions: [Position], told: Int)>

            init(_ positions: [Position]) { state = Mutex((positions, 0)) }

            var left: Int { state.withLock { $0.positions.count } }
            var told: Int { state.withLock { $0.told } }

            func next() -> Position? { state.withLock { $0.positions.popLast() } }
            func noteTold() { state.withLock { $0.told += 1 } }
        }

        private static let workers = 6

        @Test("Whichever byte of a refresh the connection breaks at, the user stays signed in")
        func everyByte() async throws {
            let port = try #require(GatehouseSystem.current.process("gateway").url.port)
            let work = Work(try await positions(port))
            let total = work.left
            // A refresh has some hundred bytes each way: fewer would mean that something else was measured.
            #expect(total > 1000)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<Self.workers {
                    group.addTask {
                        try await CuttingProxy.run(to: port) { proxy, port in
                            try await refreshAgainAndAgain(through: proxy, port, work)
                        }
                    }
                }
                try await group.waitForAll()
            }
            print("\(total) positions; \(work.told) times the app was told to try again")
        }

        private func refreshAgainAndAgain(through proxy: CuttingProxy, _ port: Int, _ work: Work) async throws {
            let device = ClientDevice(
                gateway: try #require(URL(string: "http://127.0.0.1:\(port)")), transport: PlainTransport())
            let client = try await device.registered()
            while let position = work.next() {
                if try await refresh(client, through: proxy, cutAt: position) { work.noteTold() }
            }
            #expect(device.telemetry.count(.sessionEnded) == 0)
            #expect(try await client.sessions().count == 1)
            // And so it is after a new launch.
            #expect(try await device.launch().getProfile() == 200)
        }

        /// - Returns: whether the app was told of it: the library does not repeat every kind of failure by itself.
        private func refresh(
            _ client: GatehouseClient, through proxy: CuttingProxy, cutAt position: Position
        ) async throws -> Bool {
            let token = try await client.session.accessToken()
            proxy.cut(position.direction, after: position.byte)
            var wasTold = false
            do {
                #expect(try await client.session.accessToken(after: token) != token)
            } catch {
                wasTold = true
                #expect([.unavailable, .timedOut, .server].contains(error.kind), "\(position): \(error)")
                #expect(try await client.session.accessToken(after: token) != token, "\(position)")
            }
            #expect(proxy.traffic.hasCut, "\(position)")
            #expect(await client.session.state.user != nil, "\(position)")
            return wasTold
        }

        /// Every byte of a refresh that is let through.
        private func positions(_ port: Int) async throws -> [Position] {
            let work = Mutex<[Position]>([])
            try await CuttingProxy.run(to: port) { proxy, port in
                let device = ClientDevice(
                    gateway: try #require(URL(string: "http://127.0.0.1:\(port)")), transport: PlainTransport())
                let client = try await device.registered()
                let token = try await client.session.accessToken()
                proxy.cut()
                _ = try await client.session.accessToken(after: token)
                let bytes = proxy.traffic.bytes
                work.withLock { positions in
                    for (direction, count) in bytes {
                        positions += (0..<count).map { Position(direction: direction, byte: $0) }
                    }
                }
            }
            return work.withLock { $0 }
        }
    }
}
