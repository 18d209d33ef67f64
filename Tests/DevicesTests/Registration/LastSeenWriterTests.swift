import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

@Suite struct LastSeenWriterTests {
    /// A time that PostgreSQL refuses is left out, and holds up no other.
    @Test func aRefusedTimeHoldsUpNoOther() async throws {
        try await TestPushes.with { pushes in
            let ada = SignedIn()
            let bucket = Bucket(user: ada.id)
            let log = CapturedLog()
            let writer = LastSeenWriter(database: pushes.database, logger: log.logger)
            var devices: [UUID] = []
            for token in ["aa", "bb", "cc"] { devices.append(try await pushes.register(ada, token: token).id) }
            try await pushes.database.query("UPDATE devices SET last_seen_at = now() - interval '1 hour'")
            let seen = Date(timeIntervalSince1970: (Date.now.timeIntervalSince1970 + 60).rounded())
            for device in devices {
                let time = device == devices[1] ? Date(timeIntervalSince1970: 1e13) : seen
                writer.note(device, in: bucket, at: time)
            }
            try await writer.flush()
            try await writer.flush()
            let times = try await pushes.database.query("SELECT id, last_seen_at FROM devices").decode(
                (UUID, Date).self)
            #expect(Set(times.filter { $0.1 == seen }.map(\.0)) == [devices[0], devices[2]])
            #expect(log.lines.count { $0.contains(devices[1].uuidString.lowercased()) } == 1)
        }
    }
}
