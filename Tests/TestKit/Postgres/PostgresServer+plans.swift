import Foundation
import Postgres

/// A statement that the server ran, and the partitions that it read.
public struct ExplainedStatement: Sendable {
    /// The statement, without the indentation of the log.
    public let text: String
    /// The partitions that were scanned, by their table. Partitions that the executor left out are not among them.
    public let partitions: [String: Set<String>]

    /// Whether the statement scanned more than one partition of a table.
    public var isScattered: Bool { partitions.values.contains { $0.count > 1 } }
}

/// The plans of statements, nested ones included, from the server's log.
extension PostgresServer {
    /// Records the plan of every statement of later connections. No plan is made for known values, so that a plan shows
    /// what it would touch for any value.
    public func recordPlans() async throws {
        try await withConnection { connection in
            for setting in [
                "session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0",
                "auto_explain.log_nested_statements = on", "auto_explain.log_analyze = on",
                "auto_explain.log_timing = off", "auto_explain.log_format = 'json'",
                "plan_cache_mode = 'force_generic_plan'",
            ] {
                try await connection.execute(
                    script: "LOAD 'auto_explain'; ALTER DATABASE postgres SET \(setting)", deadline: .now + .seconds(60)
                )
            }
        }
    }

    /// The statements of partitioned tables that the log has.
    ///
    /// - Parameter tables: the names of the partitioned tables; a partition is called `<table>_p<number>`.
    /// - Throws: if a plan cannot be read.
    public nonisolated func statements(onPartitionsOf tables: [String]) throws -> [ExplainedStatement] {
        var plans: [[Substring]] = []
        var isPlan = false
        for line in logText.split(separator: "\n") {
            if line.hasPrefix("\t") {
                if isPlan { plans[plans.count - 1].append(line.dropFirst()) }
            } else {
                isPlan = line.hasSuffix("plan:")
                if isPlan { plans.append([]) }
            }
        }
        return try plans.map { lines in
            let report = try JSONDecoder().decode(PlanReport.self, from: Data(lines.joined(separator: "\n").utf8))
            var partitions: [String: Set<String>] = [:]
            for name in report.plan.scanned {
                for table in tables
                where name.hasPrefix(table + "_p") && name.dropFirst(table.count + 2).allSatisfy(\.isNumber) {
                    partitions[table, default: []].insert(name)
                }
            }
            return ExplainedStatement(text: report.query, partitions: partitions)
        }
    }
}

private struct PlanReport: Decodable {
    var query: String
    var plan: Node

    enum CodingKeys: String, CodingKey {
        case query = "Query Text"
        case plan = "Plan"
    }

    final class Node: Decodable {
        let kind: String
        let relation: String?
        let loops: Double
        let plans: [Node]?

        enum CodingKeys: String, CodingKey {
            case kind = "Node Type"
            case relation = "Relation Name"
            case loops = "Actual Loops"
            case plans = "Plans"
        }

        /// The relations of scans that ran.
        var scanned: [String] {
            let own = relation.map { kind != "ModifyTable" && loops > 0 ? [$0] : [] } ?? []
            return own + (plans ?? []).flatMap(\.scanned)
        }
    }
}
