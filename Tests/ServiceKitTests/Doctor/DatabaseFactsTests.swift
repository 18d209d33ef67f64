import GatehouseServiceKit
import Postgres
import Testing

@testable import ServiceKitPostgres

@Suite struct DatabaseFactsTests {
    private static let good = DatabaseFacts(
        version: "15.4", versionNumber: 150_004, ahead: 0, isEncrypted: true, needsEncryption: true, off: [],
        maximumConnections: 100,
        connections: 20, roleLimit: 52, roleConnections: 17, poolConnections: 16, replicas: 2,
        transactionAge: 1000, preparedTransactionAge: nil, migrations: [], files: [])

    /// What is found besides what is fine.
    private func complaints(_ change: (inout DatabaseFacts) -> Void) -> [String] {
        var facts = Self.good
        change(&facts)
        return facts.findings(of: "tokens").filter { $0.severity != .fine }.map { "\($0.severity): \($0.text)" }
    }

    @Test func aGoodServerIsFine() {
        #expect(complaints { _ in } == [])
    }

    @Test func eachFaultIsNamed() {
        let old = complaints { (facts) in (facts.versionNumber, facts.version) = (130_010, "13.10") }
        #expect(old == ["problem: PostgreSQL is version 13.10."])
        #expect(
            complaints { $0.isEncrypted = false }.first?.hasPrefix("problem: PostgreSQL connections do not") == true)
        #expect(complaints { ($0.isEncrypted, $0.needsEncryption) = (false, false) } == [])
        #expect(complaints { $0.ahead = -40 } == ["problem: PostgreSQL's clock is 40 s behind this machine's."])
        #expect(
            complaints { $0.off = ["fsync", "full_page_writes"] }.first?.hasPrefix(
                "problem: PostgreSQL runs with fsync=off, full_page_writes=off") == true)
        #expect(complaints { $0.connections = 84 } == [])
        #expect(complaints { $0.connections = 85 }.first?.hasPrefix("warning: PostgreSQL has 85 of 100") == true)
        #expect(complaints { $0.connections = 100 }.first?.hasPrefix("problem:") == true)
        #expect(
            complaints { $0.roleLimit = nil }
                == ["warning: The role of tokens may open all 100 connections of PostgreSQL."])
        #expect(complaints { $0.roleLimit = 100 }.first?.hasPrefix("warning: The role of tokens may open") == true)
        #expect(complaints { $0.roleConnections = 36 } == [])
        #expect(complaints { $0.roleConnections = 37 }.first?.hasPrefix("warning: The role of tokens has 37") == true)
        #expect(complaints { $0.roleConnections = 52 }.first?.hasPrefix("problem: The role of tokens has 52") == true)
        // However few are open now.
        #expect(complaints { ($0.roleLimit, $0.roleConnections) = (51, 2) }.first?.hasSuffix("may need 52.") == true)
        #expect(complaints { ($0.roleLimit, $0.roleConnections, $0.replicas) = (36, 2, 0) } == [])
        #expect(
            complaints { ($0.roleLimit, $0.roleConnections, $0.replicas) = (20, 0, 1) } == [
                """
                warning: The role of tokens has 0 of its 20 connections open. With the 1 replica seen now, one more \
                and `migrate` it may need 36.
                """
            ])
        #expect(complaints { $0.transactionAge = 1_500_000_000 }.first?.hasPrefix("problem:") == true)
        #expect(complaints { $0.preparedTransactionAge = 7200 }.first?.hasPrefix("warning:") == true)
        #expect(complaints { $0.preparedTransactionAge = 60 } == [])
    }
}
