import Foundation
import GatehouseLimits
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres
import Synchronization
import TestKit

@testable import TokensService

/// A replica on one PostgreSQL server.
struct ServiceSide: Sendable {
    let pool: PostgresPool

    var store: SessionStore { SessionStore(database: pool, lifetimes: .init()) }
    var feed: RevocationFeed { RevocationFeed(database: pool, logger: .quiet) }
}

/// A reader of the feed, and what it has been told.
struct FeedReader: Sendable {
    var cursor: String?
    var seen: Set<UUID> = []

    /// How often it had to start over.
    var resets = 0

    /// Sequences and reads until there are no more entries, starting over when the feed asks for it.
    mutating func follow(_ feed: RevocationFeed) async throws {
        while try await feed.sequencer.sequence() > 0 {}
        while true {
            let page = try await feed.page(after: cursor, waitingUntil: .now)
            seen.formUnion(page.entries.map(\.sessionID))
            cursor = page.cursor
            if page.reset { resets += 1 }
            if !page.more { return }
        }
    }
}

/// Clients that refresh, sessions that end and a reader of the feed, on one server and then on another.
final class FailoverLoad: Sendable {
    static let clients = 6

    private struct State {
        var side: ServiceSide
        var refresher: Refresher
        var isSwitched = false
        /// How often each client was served, in all and since the switch.
        var served = [Int](repeating: 0, count: clients)
        var servedSinceSwitch = [Int](repeating: 0, count: clients)
        var signedOut: Set<Int> = []
        var quietOneWasServed = false
        var revoked: Set<UUID> = []
        var reader = FeedReader()
        /// Every token that was given out, by session and generation.
        var given: [String: Set<String>] = [:]
    }

    private let tokens: TokensFixture
    private let first: [RefreshToken]
    private let quietOne: RefreshToken
    private let state: Mutex<State>

    init(_ tokens: TokensFixture, from side: ServiceSide) async throws {
        self.tokens = tokens
        var first: [RefreshToken] = []
        for client in 0..<Self.clients {
            first.append(try await tokens.signIn(.sample(id: Self.user(inPart: client % 4)), in: side.store))
        }
        self.first = first
        quietOne = try await tokens.signIn(in: side.store)
        state = Mutex(State(side: side, refresher: try tokens.refresher(store: side.store)))
    }

    /// A user in one of the four parts into which `DistributedTests` divides the buckets.
    static func user(inPart part: Int) -> UUID {
        while true {
            let user = UUID()
            if Int(Bucket(user: user).rawValue) % 4 == part { return user }
        }
    }

    var signedOut: Set<Int> { state.withLock { $0.signedOut } }
    var quietOneWasServed: Bool { state.withLock { $0.quietOneWasServed } }
    /// Sessions whose end was answered.
    var revoked: Set<UUID> { state.withLock { $0.revoked } }
    var seen: Set<UUID> { state.withLock { $0.reader.seen } }
    var forks: [String] { state.withLock { $0.given.filter { $0.value.count > 1 }.map(\.key) } }

    /// How many clients were served.
    func refreshed(afterSwitch: Bool = false) -> Int {
        state.withLock { ($0.isSwitched || !afterSwitch) ? counts($0, afterSwitch).count { $0 > 0 } : 0 }
    }

    private func counts(_ state: State, _ afterSwitch: Bool) -> [Int] {
        afterSwitch ? state.servedSinceSwitch : state.served
    }

    func `switch`(to side: ServiceSide) {
        state.withLock { state in
            state.side = side
            state.refresher = (try? tokens.refresher(store: side.store)) ?? state.refresher
            state.isSwitched = true
        }
    }

    /// Waits for two refreshes of each client: the first may have begun before the call.
    func everyClientRefreshesAgain() async throws {
        let before = state.withLock { $0.served }
        try await eventually("every client was served again") {
            self.state.withLock { state in zip(state.served, before).allSatisfy { $0 >= $1 + 2 } }
        }
    }

    func everyClientRefreshesAgainOrIsSignedOut() async throws {
        try await eventually("every client was served again or signed out") {
            self.state.withLock { state in
                (0..<Self.clients).allSatisfy { state.servedSinceSwitch[$0] >= 2 || state.signedOut.contains($0) }
            }
        }
        let refresher = state.withLock { $0.refresher }
        let answer = try await refresher.refresh(quietOne.text, from: .test)
        state.withLock { $0.quietOneWasServed = answer.refresh.generation == 1 }
    }

    /// Runs all of them for as long as `body` does.
    func run(_ body: () async throws -> Void) async throws {
        let work = Task {
            await withTaskGroup(of: Void.self) { group in
                for client in 0..<Self.clients { group.addTask { await self.refresh(client) } }
                for _ in 0..<2 { group.addTask { await self.signInAndOut() } }
                group.addTask { while !Task.isCancelled { try? await self.readFeed() } }
            }
        }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        work.cancel()
        await work.value
        try result.get()
    }

    private static var deadline: Deadline { Deadline(.now + .seconds(10), databaseTimeout: .seconds(10)) }

    private func refresh(_ client: Int) async {
        var token = first[client]
        while !Task.isCancelled {
            let (refresher, isSwitched) = state.withLock { ($0.refresher, $0.isSwitched) }
            do {
                let successor = try await Deadline.with(Self.deadline) { [token] in
                    try await refresher.refresh(token).refresh
                }
                token = successor
                state.withLock { state in
                    state.given["\(successor.sessionID) \(successor.generation)", default: []].insert(successor.text)
                    state.served[client] += 1
                    if isSwitched { state.servedSinceSwitch[client] += 1 }
                }
            } catch let problem as Problem where problem.code == .invalidRefreshToken {
                state.withLock { _ = $0.signedOut.insert(client) }
                return
            } catch {
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private func signInAndOut() async {
        while !Task.isCancelled {
            let store = state.withLock { $0.side.store }
            do {
                let session = try await tokens.signIn(in: store).sessionID
                try await Deadline.with(Self.deadline) { try await store.revoke(session, reason: .logout) }
                state.withLock { _ = $0.revoked.insert(session) }
            } catch {
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    func readFeed() async throws {
        var (reader, feed) = state.withLock { ($0.reader, $0.side.feed) }
        do {
            try await reader.follow(feed)
        } catch {
            try? await Task.sleep(for: .milliseconds(20))
            throw error
        }
        state.withLock { $0.reader = reader }
        try? await Task.sleep(for: .milliseconds(5))
    }
}
