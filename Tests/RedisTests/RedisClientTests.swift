import Redis
import TestKit
import Testing

/// Commands against the shared server.
@Suite struct RedisClientTests {
    @Test func sendsCommandsAndReadsAnswers() async throws {
        try await withRedis { redis, prefix in
            let key = RedisArgument(prefix + "key")
            #expect(try await redis.send("GET", key) == .null)
            #expect(try await redis.send("SET", key, "Grüße").string == "OK")
            #expect(try await redis.send("GET", key).string == "Grüße")
            #expect(try await redis.send("SET", key, RedisArgument([0, 13, 10, 255])).string == "OK")
            #expect(try await redis.send("GET", key).bytes == [0, 13, 10, 255])
            #expect(try await redis.send("SET", key, 41).string == "OK")
            #expect(try await redis.send("INCR", key) == .integer(42))
            #expect(try await redis.send("RPUSH", "\(prefix)list", "a", "", "c") == .integer(3))
            let list = try await redis.send("LRANGE", "\(prefix)list", 0, -1).array
            #expect(list?.map(\.string) == ["a", "", "c"])
            #expect(await redis.probe())
            #expect(redis.isConnected)
        }
    }

    @Test func anErrorAnswerIsAnError() async throws {
        try await withRedis { redis, prefix in
            let unknown = await #expect(throws: RedisError.self) { try await redis.send("NOSUCHCOMMAND", "a") }
            #expect(unknown?.code == .server && unknown?.serverCode == "ERR" && unknown?.isUnavailable == false)
            try await redis.send("SET", "\(prefix)text", "a")
            let wrongType = await #expect(throws: RedisError.self) { try await redis.send("LPOP", "\(prefix)text") }
            #expect(wrongType?.serverCode == "WRONGTYPE")
            #expect(try await redis.send("GET", "\(prefix)text").string == "a")
        }
    }

    @Test func answersTenThousandCommandsOfAThousandTasks() async throws {
        try await withRedis { redis, prefix in
            try await withThrowingTaskGroup { group in
                for task in 0..<1_000 {
                    group.addTask {
                        for number in 0..<5 {
                            let value = "\(task)-\(number)"
                            try await redis.send("SET", "\(prefix)\(task)", "\(value)")
                            #expect(try await redis.send("GET", "\(prefix)\(task)").string == value)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func aCancelledCommandLeavesTheOthersTheirAnswers() async throws {
        try await withRedis { redis, prefix in
            let tasks = (0..<500).map { number in Task { try await redis.send("ECHO", "\(number)").string } }
            for number in stride(from: 0, to: 500, by: 3) { tasks[number].cancel() }
            for (number, task) in tasks.enumerated() {
                switch await task.result {
                case .success(let answer): #expect(answer == "\(number)")
                case .failure(let error):
                    #expect((error as? RedisError)?.code == .cancelled && number.isMultiple(of: 3))
                }
            }
            let after = try await redis.send("ECHO", "after")
            #expect(after.string == "after")
        }
    }

    @Test func aTaskThatIsCancelledBeforeSendsNothing() async throws {
        try await withRedis { redis, prefix in
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await redis.send("SET", "\(prefix)key", "1")
            }
            let error = await #expect(throws: RedisError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            let value = try await redis.send("GET", "\(prefix)key")
            #expect(value == .null)
        }
    }

    @Test func failsAtOnceAfterItsEnd() async throws {
        let escaped = try await withRedis { redis, _ in
            try await redis.send("PING")
            return redis
        }
        let error = await #expect(throws: RedisError.self) { try await escaped.send("PING") }
        #expect(error?.code == .shutDown && error?.isUnavailable == true)
        #expect(!escaped.isConnected)
        #expect(await !escaped.probe())
    }
}
