import Foundation
import Testing

/// What the manifests and the pages about them must have in common.
@Suite struct DeploymentTests {
    private func lines(of path: String) throws -> [Substring] {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        return try String(contentsOf: root.appending(path: path), encoding: .utf8).split(separator: "\n")
    }

    private func number(after prefix: String, in path: String) throws -> Int {
        let line = try #require(try lines(of: path).first { $0.contains(prefix) }, "\(path) has no \(prefix)")
        return try #require(Int(line.split(separator: prefix)[1].prefix(while: \.isNumber)))
    }

    /// Compose's builder refuses a tag that two services build.
    @Test func eachImageIsBuiltOnce() throws {
        let targets = try lines(of: "docker-compose.yml").filter { $0.contains("build: {<<: *build") }
            .map { $0.split(separator: "target: ")[1] }
        #expect(targets.count == 6 && Set(targets).count == 6, "\(targets)")
    }

    /// As docs/operations/managed-databases.md computes it.
    @Test func rolesMayConnectFromEveryReplica() throws {
        #expect(try number(after: "maxSurge: ", in: "deploy/kubernetes/base/services.yaml") == 1)
        let limits = try ["identity", "tokens", "devices"].map { name in
            16 * (try number(after: "maxReplicas: ", in: "deploy/kubernetes/base/\(name)/scaling.yaml") + 1) + 4
        }
        let named = "`CONNECTION LIMIT` of \(limits[0]), \(limits[1]) and \(limits[2]) (identity, tokens, devices)"
        #expect(try lines(of: "docs/operations/install.md").contains { $0.contains(named) }, "\(named)")
        for databases in ["deploy/kubernetes/development/databases.sh", "deploy/compose/databases.sh"] {
            #expect(try number(after: "connections=", in: databases) == 16 * 2 + 4)
        }
    }

    /// Neither manifests nor autoscalers start a deployment that is at 0.
    @Test func aRestoreStartsWhatItStopped() throws {
        let prefix = "kubectl -n gatehouse scale deployment "
        let commands = try lines(of: "docs/operations/backup.md").filter { $0.hasPrefix(prefix) }
            .map { $0.dropFirst(prefix.count).split(separator: " ") }
        let (stopped, started) = (try #require(commands.first), try #require(commands.last))
        #expect(stopped.last == "--replicas=0" && started.last == "--replicas=2")
        #expect(Set(stopped.dropLast()) == ["gateway", "identity", "tokens", "devices"])
        #expect(Set(stopped.dropLast()) == Set(started.dropLast()))
    }
}
