import GatehouseContracts
import Foundation
import Testing

@testable import GatehouseClient

@Suite("The rules for replacing the stored record") struct StoreChangeTests {
    private static let ada = GatehouseClient.User(
        id: UUID(), email: "ada", role: "customer", authProviders: [], createdAt: .distantPast)
    private static let bob = GatehouseClient.User(
        id: UUID(), email: "bob", role: "customer", authProviders: [], createdAt: .distantPast)
    private static let noon = Date(timeIntervalSince1970: 1_800_000_000)

    /// - Parameter minutes: after noon, when it was issued.
    private static func session(_ name: String, _ minutes: Double = 0, of user: GatehouseClient.User = ada)
        -> StoredSession
    {
        .sample(name, expiresAt: noon + minutes * 60 + 3600, user: user)
    }

    private static func record(_ session: StoredSession?, _ logouts: String...) -> StoredState {
        StoredState(session: session, pendingLogouts: logouts.map { Redacted($0) })
    }

    private static let mine = session("mine", 60)
    private static let older = session("older", 0)
    private static let newer = session("newer", 90)
    private static let bobs = session("bobs", 30, of: bob)
    /// What `mine` was given for: no longer what is stored.
    private static let before = Redacted("refresh.before")

    /// The new session, as the server describes the user now.
    private static var changed: StoredSession {
        var session = mine
        session.user.displayName = "Ada"
        return session
    }

    private static func deleting(_ session: StoredSession) -> StoredSession {
        var session = session
        session.isDeletionRequested = true
        return session
    }

    private static func described(_ session: StoredSession) -> StoredSession {
        var session = session
        session.user.displayName = "Ada"
        return session
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: StoreChange
        var stored: StoredState?
        var outcome: StoreChange.Outcome

        init(_ name: String, _ change: StoreChange, over stored: StoredState?, _ outcome: StoreChange.Outcome) {
            (testDescription, self.change, self.stored, self.outcome) = (name, change, stored, outcome)
        }
    }

    private static func known(_ state: StoredState, _ token: String) -> StoredState {
        StoredState(session: state.session, pendingLogouts: state.pendingLogouts, deviceToken: Redacted(token))
    }

    static let table = [
        Case(
            "a sign-in with a device token, over an older one", .signIn(mine, deviceToken: Redacted("new")),
            over: known(record(nil), "old"), .write(known(record(mine, "known"), "new"))),
        Case(
            "a sign-in without, over one that is there", .signIn(mine), over: known(record(nil), "old"),
            .write(known(record(mine, "known"), "old"))),
        Case(
            "a sign-out, where there is a device token", .signOut(mine, informsServer: false),
            over: known(record(mine), "old"), .write(known(record(nil, "known"), "old"))),
        Case(
            "a renewal, where there is a device token", .renewal(newer, of: mine.refreshToken),
            over: known(record(mine), "old"), .write(known(record(newer, "known"), "old"))),
        Case(
            "a refusal, where there is a device token", .refusal(mine.refreshToken),
            over: known(record(mine), "old"), .write(known(record(nil, "known"), "old"))),
        Case(
            "a logout that is through, where there is a device token", .finishedLogout(Redacted("a")),
            over: known(record(mine, "a", "b"), "old"), .write(known(record(mine, "b"), "old"))),
        Case("a sign-in, over nothing", .signIn(mine), over: nil, .write(record(mine, "known"))),
        Case(
            "a sign-in, where the user has signed out", .signIn(mine), over: record(nil), .write(record(mine, "known"))),
        Case(
            "a sign-in, over another user", .signIn(mine), over: record(bobs),
            .write(record(mine, "known", "refresh.bobs"))),
        Case(
            "a sign-in, over the same user's session, even a newer one", .signIn(mine), over: record(newer),
            .write(record(mine, "known", "refresh.newer"))),
        Case("a sign-in, over itself", .signIn(mine), over: record(mine), .write(record(mine, "known"))),

        Case("new tokens, over nothing", .renewal(mine, of: before), over: nil, .write(record(mine, "known"))),
        Case(
            "new tokens, over the old ones", .renewal(mine, of: before), over: record(older),
            .write(record(mine, "known"))),
        Case(
            "new tokens, over others of the same second", .renewal(mine, of: before), over: record(session("twin", 60)),
            .write(record(mine, "known"))),
        Case(
            "new tokens, over the one they were given for, by a server whose clock was set back",
            .renewal(mine, of: newer.refreshToken), over: record(newer), .write(record(mine, "known"))),
        Case("new tokens, over newer ones", .renewal(mine, of: before), over: record(newer), .follow(newer)),
        Case("new tokens, where the user has signed out", .renewal(mine, of: before), over: record(nil), .follow(nil)),
        Case("new tokens, over another user", .renewal(mine, of: before), over: record(bobs), .follow(bobs)),

        Case("a user, over nothing", .user(changed), over: nil, .write(record(changed, "known"))),
        Case(
            "a user, over the old tokens", .user(changed), over: record(older),
            .write(record(described(older), "known"))),
        Case(
            "a user, over newer tokens", .user(changed), over: record(newer), .write(record(described(newer), "known"))),
        Case("a user, where the user has signed out", .user(changed), over: record(nil), .leave),
        Case("a user, over another one", .user(changed), over: record(bobs), .leave),

        Case("a requested deletion, over nothing", .deletion(of: mine, isRequested: true), over: nil, .leave),
        Case(
            "a requested deletion, over newer tokens", .deletion(of: mine, isRequested: true), over: record(newer),
            .write(record(deleting(newer), "known"))),
        Case(
            "a requested deletion, over the same", .deletion(of: mine, isRequested: true), over: record(deleting(mine)),
            .leave),
        Case(
            "a requested deletion, over another user", .deletion(of: mine, isRequested: true), over: record(bobs),
            .leave),
        Case(
            "a refused deletion", .deletion(of: mine, isRequested: false), over: record(deleting(mine)),
            .write(record(mine, "known"))),
        Case(
            "new tokens, where a deletion was requested", .renewal(newer, of: mine.refreshToken),
            over: record(deleting(mine)), .write(record(newer, "known"))),
        Case(
            "a user, where a deletion was requested", .user(changed), over: record(deleting(mine)),
            .write(record(deleting(described(mine)), "known"))),

        Case("a sign-out, over nothing", .signOut(mine, informsServer: true), over: nil, .write(record(nil, "known"))),
        Case(
            "a sign-out of one's own", .signOut(mine, informsServer: true), over: record(mine),
            .write(record(nil, "known", "refresh.mine"))),
        Case(
            "a sign-out, over newer tokens", .signOut(mine, informsServer: true), over: record(newer),
            .write(record(nil, "known", "refresh.newer"))),
        Case(
            "a deleted account", .signOut(mine, informsServer: false), over: record(newer),
            .write(record(nil, "known"))),
        Case(
            "a sign-out, over another user", .signOut(mine, informsServer: true), over: record(bobs, "earlier"),
            .write(record(bobs, "earlier", "known"))),
        Case(
            "a sign-out, where the user has signed out", .signOut(mine, informsServer: true),
            over: record(nil, "earlier"),
            .write(record(nil, "earlier", "known"))),

        Case("a refusal, over nothing", .refusal(mine.refreshToken), over: nil, .leave),
        Case(
            "a refusal of the token that is there", .refusal(mine.refreshToken), over: record(mine),
            .write(record(nil, "known"))),
        Case("a refusal of another token", .refusal(mine.refreshToken), over: record(newer), .leave),
        Case("a refusal, over another user", .refusal(mine.refreshToken), over: record(bobs), .leave),

        Case(
            "a logout that is told", .finishedLogout(Redacted("told")), over: record(bobs, "earlier", "told"),
            .write(record(bobs, "earlier"))),
        Case(
            "a logout that another process has told", .finishedLogout(Redacted("told")), over: record(bobs, "earlier"),
            .leave),
        Case("a logout that is told, over nothing", .finishedLogout(Redacted("told")), over: nil, .leave),
    ]

    @Test(arguments: table) func outcome(of row: Case) {
        #expect(row.change.outcome(over: row.stored, pendingLogouts: [Redacted("known")]) == row.outcome)
    }

    /// Lives differ by some per cent, so that what was issued later may expire earlier.
    @Test("Newer is what was issued later, whenever it expires") func issued() {
        var short = Self.session("short", 61)
        short.accessExpiresAt -= 180
        short.accessLifetime -= 180
        #expect(short.accessExpiresAt < Self.mine.accessExpiresAt)
        let outcome = StoreChange.renewal(short, of: Self.before).outcome(
            over: Self.record(Self.mine), pendingLogouts: [])
        #expect(outcome == .write(Self.record(short)))
    }

    @Test("Of logouts the newest are remembered, each once") func logouts() {
        let many = (0..<30).map { Redacted("\($0 % 15)") }
        guard
            case .write(let state) = StoreChange.signOut(Self.mine, informsServer: true)
                .outcome(over: Self.record(Self.mine, "earlier"), pendingLogouts: many)
        else {
            Issue.record("nothing is written")
            return
        }
        #expect(state.pendingLogouts.map(\.value) == (6..<15).map(String.init) + ["refresh.mine"])
    }

    @Test(
        "Changes that replace a record that cannot be read",
        arguments: [
            (TokenStoreError.Code.corrupt, true, true), (.userPresenceNeeded, true, false),
            (.userPresenceRefused, true, false), (.userPresenceFailed, true, false), (.deviceLocked, false, false),
            (.failed, false, false), (.fromLaterVersion, false, false),
        ])
    func unreadable(code: TokenStoreError.Code, signIn: Bool, renewal: Bool) {
        #expect(StoreChange.signIn(Self.mine).replacesUnreadable(code) == signIn)
        #expect(StoreChange.renewal(Self.mine, of: Self.before).replacesUnreadable(code) == renewal)
        #expect(StoreChange.signOut(Self.mine, informsServer: true).replacesUnreadable(code) == renewal)
    }
}
