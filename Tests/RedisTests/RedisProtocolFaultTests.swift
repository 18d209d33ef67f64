import Redis
import TestKit
import Testing

/// Answers that no good server gives.
@Suite struct RedisProtocolFaultTests {
    @Test(arguments: ["", "$1000\r\nhalf of it", "*3\r\n:1\r\n:2\r\n", "+O"])
    func aConnectionCutInTheMiddleOfAnAnswer(_ beginning: String) async throws {
        try await withScriptedServer(answer: beginning, thenClose: true) { configuration in
            try await withRedisClient(configuration) { redis in
                let error = await #expect(throws: RedisError.self) { try await redis.send("GET", "key") }
                #expect(error?.code == .connectionLost && error?.isUnavailable == true)
            }
        }
    }

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "$-7\r\n", "*1\r\n?\r\n"])
    func garbageEndsTheConnection(_ garbage: String) async throws {
        try await withScriptedServer(answer: garbage, thenClose: false) { configuration in
            try await withRedisClient(configuration) { redis in
                let error = await #expect(throws: RedisError.self) { try await redis.send("GET", "key") }
                #expect(error?.isUnavailable == true)
            }
        }
    }

    @Test func moreAnswersThanQuestionsEndTheConnection() async throws {
        try await withScriptedServer(answer: "+one\r\n+two\r\n", thenClose: false) { configuration in
            try await withRedisClient(configuration) { redis in
                // The answer is given: what follows it is the fault.
                #expect(try await redis.send("GET", "key").string == "one")
                try await eventually("a new connection, with a new answer") {
                    (try? await redis.send("GET", "key").string) == "one"
                }
            }
        }
    }

    @Test func aReplicaInThePlaceOfThePrimaryIsUnavailable() async throws {
        let answer = "-READONLY You can't write against a read only replica.\r\n"
        try await withScriptedServer(answer: answer, thenClose: false) { configuration in
            try await withRedisClient(configuration) { redis in
                let error = await #expect(throws: RedisError.self) { try await redis.send("SET", "key", "1") }
                #expect(error?.serverCode == "READONLY" && error?.isUnavailable == true)
            }
        }
    }
}
