import Foundation
import GatehouseServiceContracts

/// What a registration costs devices and PostgreSQL, beside its statement by pgbench and an empty request.
extension PushBenchmark {
    private static let rounds = 3
    private static let workers = 8
    /// Devices that each worker registers again in turn, so that writing when they were seen is part of the
    /// measurement.
    private static let seenAgain = 300
    private static let schedule = Schedule(warmUp: .milliseconds(500), measured: .seconds(1))

    func measureRegistration() async throws {
        Table.header("Registrations")
        var lines = try await registrationRound()
        for _ in 1..<Self.rounds {
            for (index, again) in try await registrationRound().enumerated() { lines[index] += again }
        }
        for line in lines { Table.line(line) }
        let costs = lines.map(\.microsecondsInAll)
        Table.note(
            "A registration costs \(Table.ratio(costs[0] / (costs[2] + costs[3]))) times its statement and an empty "
                + "request (target 2.5), an unchanged one \(Table.ratio(costs[1] / costs[0])) of that (target 0.4)")
    }

    private func registrationRound() async throws -> [Measurement] {
        let processes = try system.processes("devices", "postgres")
        let devices = (0..<Self.workers).map { _ in (user: UUID(), number: Int.random(in: 1..<1 << 60)) }
            .map { (user: $0.user, session: UUID.session(of: $0.user), number: $0.number) }
        return [
            try await measure("registration", workers: devices, watching: processes, schedule: Self.schedule) {
                device in
                device.user = UUID()
                device.number += 1
                try await registerDevice(device.number, of: device.user, session: .session(of: device.user))
            },
            try await measure(
                "registration, unchanged", workers: try await registered(), watching: processes, schedule: Self.schedule
            ) { devices in
                devices.turn = (devices.turn + 1) % Self.seenAgain
                let device = devices.all[devices.turn]
                try await registerDevice(device.number, of: device.user, session: device.session)
            },
            try await PGBench(url: system.value("DEVICES_DATABASE_URL"), server: processes[1]).measure(
                "pgbench: its statement", script: Self.registrationStatement, workers: Self.workers,
                until: .schedule(Self.schedule)),
            try await measure(
                "empty request", workers: devices, watching: [processes[0]], schedule: Self.schedule
            ) { device in
                try await registerDevice(
                    device.number, of: device.user, session: device.session, path: "/v1/none", status: 404)
            },
        ]
    }

    /// Devices for each worker that are registered.
    private func registered() async throws -> [(all: [(user: UUID, session: UUID, number: Int)], turn: Int)] {
        try await withThrowingTaskGroup(of: [(user: UUID, session: UUID, number: Int)].self) { group in
            for _ in 0..<Self.workers {
                group.addTask {
                    var devices: [(user: UUID, session: UUID, number: Int)] = []
                    for _ in 0..<Self.seenAgain {
                        let (user, number) = (UUID(), Int.random(in: 1..<1 << 60))
                        let session = UUID.session(of: user)
                        try await registerDevice(number, of: user, session: session)
                        devices.append((user, session, number))
                    }
                    return devices
                }
            }
            return try await group.reduce(into: []) { $0.append((all: $1, turn: 0)) }
        }
    }

    /// The one with which `RegistrationStore` writes, for a new token of a new user.
    private static let registrationStatement: String = {
        let user = "md5('user ' || :number)::uuid"
        let hash = "sha256(int8send(:number))"
        let session = "md5('session ' || :number)::uuid"
        return """
            \\set number random(1, 1000000000000000)
            WITH session AS MATERIALIZED (
                SELECT session_is_live(bucket_of(\(user)), \(session)) AS is_live
            ), counted AS MATERIALIZED (
                SELECT count_push_token(bucket_of(\(user)), \(user), \(hash), 200) AS is_allowed
                FROM session WHERE is_live
            ), owned AS MATERIALIZED (
                SELECT own_push_token(\(hash), \(user)) AS owner FROM counted WHERE is_allowed
            ), registered AS MATERIALIZED (
                SELECT register_device(
                    bucket_of(\(user)), \(user), \(session), \(hash), (owner).new_epoch,
                    decode('0131' || repeat('00', 60), 'hex'), 'sandbox', '\(bundleID)', 'alert', NULL, NULL, NULL,
                    NULL, NULL, NULL, NULL, NULL, 50, NULL) AS device, owner
                FROM owned
            ), removed AS MATERIALIZED (
                SELECT remove_void_device(
                    bucket_of((owner).former_user), (owner).former_user, \(hash), (owner).former_epoch, \(user),
                    (owner).new_epoch)
                FROM registered WHERE (owner).former_user IS NOT NULL
            ), disowned AS MATERIALIZED (
                SELECT count(disown_push_token(displaced.hash, \(user), displaced.epoch))
                FROM registered, unnest((device).displaced_hashes, (device).displaced_epochs) AS displaced (hash, epoch)
            )
            SELECT (device).device_id, (device).registered_at, (device).seen_at, is_allowed
            FROM counted LEFT JOIN registered ON true LEFT JOIN removed ON true LEFT JOIN disowned ON true
            WHERE NOT is_allowed OR (device).device_id IS NOT NULL;
            """
    }()
}
