import Foundation
import Postgres
import TestKit
import Testing

@Suite struct TypeTests {
    @Test func everyTypeGoesThereAndBack() async throws {
        try await withDatabase { database in
            let pool = database.pool
            try await expectRoundTrip(true, false, on: pool)
            try await expectRoundTrip(Int16.min, 0, .max, on: pool)
            try await expectRoundTrip(Int32.min, 0, .max, on: pool)
            try await expectRoundTrip(Int64.min, 0, .max, on: pool)
            try await expectRoundTrip(Int.min, -1, .max, on: pool)
            try await expectRoundTrip(0.0, -1.5, .pi, .greatestFiniteMagnitude, .infinity, on: pool)
            try await expectRoundTrip("", "plain", "Zoë 日本 🦊 $1 'quoted' \\", on: pool)
            try await expectRoundTrip(UUID(), UUID(), on: pool)
            try await expectRoundTrip(Data(), Data(0...255), on: pool)
            try await expectRoundTrip([UInt8](), [0, 1, 255], on: pool)
            try await expectRoundTrip([String](), ["a", "", "b,c", "{\"x\"}", "NULL"], on: pool)
            try await expectRoundTrip([UUID](), [UUID(), UUID()], on: pool)
            try await expectRoundTrip([Int](), [.min, 7, .max], on: pool)
            try await expectRoundTrip([Int64](), [.min, 7, .max], on: pool)
            try await expectRoundTrip([Int32](), [.min, 7, .max], on: pool)
            try await expectRoundTrip([Int16](), [.min, 7, .max], on: pool)
            try await expectRoundTrip([Double](), [0.1, -2], on: pool)
            try await expectRoundTrip([Bool](), [true, false], on: pool)
            try await expectRoundTrip([Date](), [Date(timeIntervalSince1970: 1)], on: pool)
            let document = PostgresJSON(["name": ["Ada", "Zoë \"\\"]])
            try await expectRoundTrip(document, on: pool)
        }
    }

    @Test func datesKeepMicroseconds() async throws {
        try await withDatabase { database in
            let dates = ["2026-11-20T12:00:00.123456Z", "1969-12-31T23:59:59.999999Z", "0044-03-15T12:00:00Z"]
            for text in dates {
                let row = try await database.pool.query("SELECT \(PostgresText(text))::timestamptz")
                let date = try row[0].decode(Date.self)
                let back = try await database.pool.query(
                    "SELECT \(date) = \(PostgresText(text))::timestamptz, to_char(\(date), 'US')")
                let (isSame, microseconds) = try back[0].decode((Bool, String).self)
                #expect(isSame, "\(text) came back as \(date) with \(microseconds) µs")
            }
            let error = await #expect(throws: PostgresError.self) {
                try await database.pool.query("SELECT 'infinity'::timestamptz")[0].decode(Date.self)
            }
            #expect(error?.code == .decoding)
            await #expect(throws: PostgresError.self) {
                try await database.pool.query("SELECT \(Date(timeIntervalSince1970: 1e15))")
            }
        }
    }

    @Test func columnsOfTheServersOwnMaking() async throws {
        try await withDatabase { database in
            let pool = database.pool
            let numbers = try await pool.query("SELECT 7::smallint, 8::integer, 9::bigint, 1.5::real, 2.5::float8")
            let (small, medium, large, real, double) = try numbers[0].decode((Int, Int16, Int32, Double, Double).self)
            #expect((small, medium, large, real, double) == (7, 8, 9, 1.5, 2.5))
            let texts = try await pool.query("SELECT 'v'::varchar, 'n'::name, '{\"a\": 1}'::json, '{\"a\": 1}'::jsonb")
            let values = try texts[0].decode((String, String, String, String).self)
            #expect(values == ("v", "n", "{\"a\": 1}", "{\"a\": 1}"))
            let document = try await pool.query("SELECT '{\"a\": 1}'::json")
            #expect(try document[0].decode(PostgresJSON<[String: Int]>.self).value == ["a": 1])
            try await pool.query("CREATE TYPE mood AS ENUM ('good', 'bad')")
            #expect(try await pool.query("SELECT \(PostgresText("bad"))::mood")[0].decode(String.self) == "bad")
        }
    }

    @Test func textFormReadsTheSameValues() async throws {
        try await withDatabase { database in
            let id = UUID()
            let query: PostgresQuery = """
                SELECT 1::smallint, -2::bigint, 1.5::float8, true, \(id), '\\x00ff'::bytea, 12.50::numeric,
                    '10.0.0.1'::inet
                """
            let row = try await database.pool.query(query.returning(.text))[0]
            let (small, big, float, bool, uuid, bytes, numeric, address) = try row.decode(
                (Int, Int64, Double, Bool, UUID, [UInt8], String, String).self)
            #expect((small, big, float, bool, uuid) == (1, -2, 1.5, true, id))
            #expect((bytes, numeric, address) == ([0, 255], "12.50", "10.0.0.1"))
        }
    }

    @Test func nullsAndWrongTypesAreErrorsThatNameTheColumn() async throws {
        try await withDatabase { database in
            let row = try await database.pool.query(
                "SELECT NULL::text AS nickname, 70000 AS size, ARRAY[1, NULL] AS list")[0]
            #expect(try row.decode("nickname", as: String?.self) == nil)
            #expect(decodingError { try row.decode("nickname", as: String.self) }?.contains("nickname") == true)
            #expect(decodingError { try row.decode("size", as: Int16.self) } != nil)
            #expect(decodingError { try row.decode("size", as: String.self) } != nil)
            #expect(decodingError { try row.decode("size", as: UUID.self) } != nil)
            #expect(decodingError { try row.decode("size", as: Bool.self) } != nil)
            #expect(decodingError { try row.decode("size", as: Date.self) } != nil)
            #expect(decodingError { try row.decode("size", as: [UInt8].self) } != nil)
            #expect(decodingError { try row.decode("list", as: [Int32].self) } != nil)
            #expect(decodingError { try row.decode("other", as: Int.self) } != nil)
            #expect(decodingError { try row.decode((String?, Int).self) } != nil)
            #expect(decodingError { try row.decode(Int.self) } != nil)
            let document = try await database.pool.query("SELECT '[1]'::jsonb")[0]
            #expect(decodingError { try document.decode(PostgresJSON<String>.self) } != nil)
        }
    }

    @Test func columnsAreReadByTheirNames() async throws {
        try await withDatabase { database in
            let row = try await database.pool.query(
                "SELECT 1 AS id, 'a' AS name, 2 AS twice, 3 AS twice, 4 AS \"Größe\"")[0]
            #expect(try row.decode("name", as: String.self) == "a")
            let id: Int = try row.decode("id")
            #expect(id == 1)
            #expect(try row.decode("Größe", as: Int.self) == 4)
            let unknown = decodingError { try row.decode("nam", as: String.self) }
            #expect(unknown == "no column has the name nam")
            #expect(decodingError { try row.decode("names", as: String.self) } != nil)
            #expect(decodingError { try row.decode("ID", as: Int.self) } != nil)
            let ambiguous = decodingError { try row.decode("twice", as: Int.self) }
            #expect(ambiguous == "several columns have the name twice")
        }
    }

    @Test func whatCannotBeWrittenIsRefusedBeforeItIsSent() async throws {
        try await withDatabase { database in
            for query: PostgresQuery in [
                "SELECT \(PostgresJSON([Double.nan]))", "SELECT \(PostgresText("a\u{0}b"))",
                "SELECT \(Date(timeIntervalSince1970: 1e15))",
            ] {
                let error = await #expect(throws: PostgresError.self) { try await database.pool.query(query) }
                #expect(error?.code == .encoding)
            }
            let error = await #expect(throws: PostgresError.self) {
                try await database.pool.query("SELECT \("a\u{0}b")")
            }
            #expect(error?.sqlState == "22021")
        }
    }

    private func decodingError(_ body: () throws -> some Any) -> String? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? PostgresError).flatMap { $0.code == .decoding ? $0.message : nil }
        }
    }

    private func expectRoundTrip<Value: PostgresEncodable & PostgresDecodable & Equatable>(
        _ values: Value..., on pool: PostgresPool, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for value in values as [Value?] + [nil] {
            let back = try await pool.query("SELECT \(value)")
            #expect(try back[0].decode(Value?.self) == value, sourceLocation: sourceLocation)
        }
    }
}
