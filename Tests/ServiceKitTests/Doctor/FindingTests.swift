import Foundation
import Testing

@testable import GatehouseServiceKit

/// The words for findings, without a request to a service.
@Suite struct FindingTests {
    @Test(
        arguments: [
            (0, nil), (1.9, nil), (-1.9, nil), (2, .warning), (-29, .warning), (30, .problem), (-3600, .problem),
        ] as [(TimeInterval, Finding.Severity?)])
    func clocks(ahead: TimeInterval, severity: Finding.Severity?) {
        #expect(ClockFinding.finding("PostgreSQL", ahead: ahead)?.severity == severity)
    }

    @Test func aClockIsAheadOrBehind() {
        #expect(ClockFinding.finding("It", ahead: 90)?.text == "It's clock is 90 s ahead of this machine's.")
        #expect(ClockFinding.finding("It", ahead: -600)?.text == "It's clock is 10 min behind this machine's.")
        #expect(ClockFinding.date("Sun, 06 Nov 1994 08:49:37 GMT") == Date(timeIntervalSince1970: 784_111_777))
        #expect(ClockFinding.date("yesterday") == nil)
    }

    @Test func keysAreDueAfterAYear() {
        func finding(_ days: Double) -> Finding {
            KeyAge.finding("The keys", age: days * 86_400, verb: "were last changed", remedy: "Do so.")
        }
        #expect(finding(0).text == "The keys were last changed less than an hour ago.")
        #expect(finding(1).text == "The keys were last changed 24 hours ago.")
        #expect(finding(364).severity == .fine)
        #expect(finding(365).severity == .warning && finding(365).remedy == "Do so.")
    }

    @Test(
        arguments: [
            (-1, .problem), (2, .problem), (4, .warning), (20, .warning), (22, .fine), (90, .fine),
        ] as [(Double, Finding.Severity)])
    func certificates(days: Double, severity: Finding.Severity) {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let finding = CertificateFinding.finding("tls.crt", expiresAt: now + days * 86_400, now: now)
        #expect(finding.severity == severity, "\(finding)")
        #expect(finding.text.contains("expired") == (days < 0))
    }

    @Test func aServersCertificate() {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let server = TLSServer("Redis", host: "cache", port: 6379)
        let expired = CertificateFinding.finding(of: server, expiresAt: now - 90_000, now: now)
        #expect(
            expired.text == "The certificate of Redis at cache:6379 expired 25 hours ago: no service connects any more."
        )
        #expect(expired.severity == .problem)
        #expect(CertificateFinding.finding(of: server, expiresAt: now + 86_400 * 90, now: now).severity == .fine)
        #expect(server.name == "cache" && TLSServer("Redis", host: "::1", port: 1).name == nil)
    }

    @Test func openFiles() {
        #expect(DescriptorFinding.finding(limit: 1024).severity == .warning)
        #expect(DescriptorFinding.finding(limit: 20_000).severity == .fine)
    }

    @Test func redis() {
        func severities(_ info: String) -> [Finding.Severity] { RedisFacts(info: info).findings.map(\.severity) }
        #expect(severities("# Replication\r\nrole:master\r\n") == [.fine])
        #expect(severities("role:slave\r\n") == [.problem])
        let full = "role:master\r\nused_memory:95000000\r\nmaxmemory:100000000\r\nmaxmemory_policy:"
        #expect(severities(full + "noeviction\r\n") == [.warning])
        #expect(severities(full + "allkeys-lru\r\n") == [.fine])
        #expect(severities("used_memory:95000000\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction") == [.fine])
    }

    @Test func whyAServiceIsNotReady() {
        let problem = """
            {"type": "about:blank", "title": "Unavailable", "status": 503, "detail": "Later.", "code": "UNAVAILABLE", \
            "requestId": "1", "errors": [{"field": "postgres", "message": "This is not ready."}]}
            """
        #expect(Examination.reasons(problem) == ": postgres")
        #expect(Examination.reasons("<html>") == "")
    }

    @Test func aRemedyStandsOnALineOfItsOwn() {
        #expect(Finding.fine("Good.").lines == "  fine     Good.")
        #expect(Finding.problem("Bad.", remedy: "Mend it.").lines == "  problem  Bad.\n           → Mend it.")
    }
}
