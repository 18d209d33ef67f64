import Foundation
import Testing

@testable import GatewayService

@Suite("What a replica says of itself")
struct ReplicaStatusTests {
    private let unknown = ReplicaStatus(service: "tokens", address: "10.0.0.1:8082")
    private let time = Date(timeIntervalSince1970: 1_800_000_000)

    private func after(_ status: Int, _ body: String, _ before: ReplicaStatus? = nil) -> ReplicaStatus {
        (before ?? unknown).after((status, Data(body.utf8)), at: time, milliseconds: 2)
    }

    @Test("One that is ready tells its version")
    func ready() {
        let status = after(
            200, #"{"status":"ready","version":"1.2.3","revision":"3f2a91c","startedAt":"2026-11-20T12:00:00Z"}"#)
        #expect(status.state == .ready && status.version == "1.2.3" && status.revision == "3f2a91c")
        #expect(status.startedAt == Date(timeIntervalSince1970: 1_795_176_000))
        #expect(status.readyAt == time && status.milliseconds == 2)
        let older = after(200, #"{"status":"ready"}"#, status)
        #expect(older.state == .ready && older.version == nil, "a version that was rolled back says nothing of itself")
    }

    @Test("One that is not ready says why, and keeps the version that it last told")
    func notReady() {
        let ready = after(200, #"{"status":"ready","version":"1.2.3"}"#)
        let problem = """
            {"code":"UNAVAILABLE","status":503,"title":"","detail":"","type":"about:blank","requestId":"a",\
            "errors":[{"field":"postgres","message":"This is not ready."}]}
            """
        let status = ready.after((503, Data(problem.utf8)), at: time + 60, milliseconds: 1)
        #expect(status.state == .notReady && status.failing == ["postgres"])
        #expect(status.version == "1.2.3" && status.readyAt == time)
        let gone = status.after(nil, at: time + 120, milliseconds: 1000)
        #expect(gone.state == .unreachable && gone.failing.isEmpty && gone.milliseconds == nil)
        #expect(gone.version == "1.2.3" && gone.readyAt == time)
    }

    @Test(
        "What no service of Gatehouse answers is no answer",
        arguments: [
            (200, ""), (200, "<html>"), (200, "[]"), (200, #"{"status":1}"#), (503, "no"), (301, ""),
            (404, #"{"status":"ready"}"#), (500, #"{"status":"ready"}"#),
        ])
    func garbage(_ status: Int, _ body: String) { #expect(after(status, body).state == .unreachable) }

    @Test("Texts are taken over only where they are short")
    func bounded() {
        let long = String(repeating: "x", count: 65)
        let status = after(200, #"{"status":"ready","version":"\#(long)","revision":"<b>"}"#)
        #expect(status.version == nil && status.revision == "<b>")
    }
}
