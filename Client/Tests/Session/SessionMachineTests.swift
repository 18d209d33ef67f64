import GatehouseContracts
import Foundation
import Testing

@testable import GatehouseClient

@Suite("The rules of a session") struct SessionMachineTests {
    private let wall = Date(timeIntervalSince1970: 1_800_000_000)
    private let session = StoredSession.sample()

    private func restored(_ state: StoredState?) -> SessionMachine {
        var machine = SessionMachine()
        machine.restored(state, wall: wall, monotonic: .zero)
        return machine
    }

    @Test("A session that has not been read has no token") func restoring() {
        let machine = SessionMachine()
        #expect(!machine.isRestored && machine.state == .restoring && machine.current == nil)
        #expect(machine.advice(at: .zero) == .refuse(.locked))
    }

    @Test(
        "A store that cannot be read",
        arguments: [
            (TokenStoreError.Code.deviceLocked, SessionState.locked(.device)),
            (.userPresenceNeeded, .locked(.userPresence)), (.userPresenceRefused, .locked(.userPresence)),
            (.corrupt, .signedOut(reason: .storeCorrupt)), (.failed, .restoring), (.fromLaterVersion, .restoring),
        ])
    func failure(code: TokenStoreError.Code, state: SessionState) {
        var machine = SessionMachine()
        machine.failedToRestore(TokenStoreError(code))
        #expect(machine.state == state)
        // Only what is damaged is not read again.
        #expect(machine.isRestored == (code == .corrupt))
    }

    @Test("Advice follows the token's life") func advice() {
        let machine = restored(StoredState(session: session))
        let token = GatehouseAccessToken(session.accessToken)
        #expect(machine.advice(at: .zero) == .use(token))
        #expect(machine.advice(at: .seconds(3299)) == .use(token))
        #expect(machine.advice(at: .seconds(3300)) == .useAndRefresh(token))
        #expect(machine.advice(at: .seconds(3600)) == .refresh)
    }

    @Test("A refusal counts only of the current token") func refusal() {
        let machine = restored(StoredState(session: session))
        let token = GatehouseAccessToken(session.accessToken)
        #expect(machine.advice(after: token, at: .zero) == .refresh)
        #expect(machine.advice(after: GatehouseAccessToken(Redacted("older")), at: .zero) == .use(token))
        let foreign = GatehouseAccessToken(Redacted("older"), of: UUID())
        #expect(machine.advice(after: foreign, at: .zero) == .refuse(.sessionEnded))
        // A caller that was refused with an older one takes the current one, and does not fetch another beside it.
        #expect(machine.advice(after: GatehouseAccessToken(Redacted("older")), at: .seconds(3300)) == .use(token))
    }

    @Test(
        "After the end the machine says whether the user ended the session",
        arguments: [
            (SignOutReason.user, GatehouseError.Kind.signedOut), (.accountDeleted, .signedOut),
            (.endedByServer, .sessionEnded), (.expired, .sessionEnded), (.otherProcess, .sessionEnded),
            (.appleCredentialRevoked, .sessionEnded),
        ])
    func ended(reason: SignOutReason, kind: GatehouseError.Kind) {
        var machine = restored(StoredState(session: session))
        machine.end(reason, informingServer: false)
        #expect(machine.advice(at: .zero) == .refuse(kind))
        #expect(machine.state == .signedOut(reason: reason))
        #expect(machine.current == nil && machine.pendingLogouts.isEmpty)
    }

    @Test("Every beginning and end is a new epoch, a renewal is none") func epochs() {
        var machine = restored(StoredState(session: session))
        let first = machine.epoch
        machine.renew(.sample("renewed"), TokenLife(lifetime: .seconds(1), sentAt: .zero))
        machine.update(GatehouseClient.User(id: session.user.id, role: "admin", authProviders: [], createdAt: wall))
        #expect(machine.epoch == first && machine.state.user?.role == "admin")
        machine.end(.user, informingServer: true)
        #expect(machine.epoch == first + 1)
        machine.end(.user, informingServer: true)
        #expect(machine.epoch == first + 1 && machine.pendingLogouts.count == 1)
        machine.begin(session, TokenLife(lifetime: .seconds(1), sentAt: .zero))
        #expect(machine.epoch == first + 2)
        // No session is there to be renewed after the end.
        machine.end(.user, informingServer: false)
        machine.renew(session, TokenLife(lifetime: .seconds(1), sentAt: .zero))
        #expect(machine.current == nil)
    }

    @Test("Logouts that the server has missed are remembered, the oldest forgotten in the end") func logouts() {
        var machine = restored(StoredState(session: session, pendingLogouts: [Redacted("earlier")]))
        for number in 0..<StoredState.mostPendingLogouts {
            machine.begin(.sample("\(number)"), TokenLife(lifetime: .seconds(1), sentAt: .zero))
        }
        #expect(machine.pendingLogouts.count == StoredState.mostPendingLogouts)
        #expect(!machine.pendingLogouts.contains(Redacted("earlier")))
        machine.finished(Redacted("refresh.0"))
        #expect(!machine.pendingLogouts.contains(Redacted("refresh.0")))
        // The same session once more is none that has ended.
        let count = machine.pendingLogouts.count
        machine.begin(machine.current!, TokenLife(lifetime: .seconds(1), sentAt: .zero))
        #expect(machine.pendingLogouts.count == count)
        // What is stored is known once.
        machine.addPendingLogouts(machine.pendingLogouts + [Redacted("another process'")])
        #expect(machine.pendingLogouts.count == StoredState.mostPendingLogouts)
        #expect(machine.pendingLogouts.contains(Redacted("another process'")))
    }

    @Test("Later versions read the stored record") func format() throws {
        let state = StoredState(session: session, pendingLogouts: [Redacted("earlier")])
        #expect(try StoredState(data: state.data()) == state)
        let first = #"""
            {"version":1,"pendingLogouts":["r0"],"session":{"accessToken":"a","refreshToken":"r","accessLifetime":3600,
            "accessExpiresAt":"2026-11-22T12:00:00Z","refreshExpiresAt":"2026-12-22T12:00:00Z","clockOffset":-1.5,
            "user":{"id":"1b4e28ba-2fa1-11d2-883f-0016d3cca427","role":"customer","emailVerified":false,"storeIds":[],
            "authProviders":["apple","another"],"createdAt":"2026-11-22T12:00:00Z"}}}
            """#
        let read = try StoredState(data: Data(first.utf8))
        #expect(read.session?.refreshToken.value == "r" && read.session?.clockOffset == -1.5)
        #expect(read.pendingLogouts == [Redacted("r0")])
    }
}
