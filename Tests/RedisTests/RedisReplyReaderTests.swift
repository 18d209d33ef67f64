import NIOCore
@testable import Redis
import Testing

@Suite struct RedisReplyReaderTests {
    private func read(_ text: String, maximumReplyBytes: Int = 1_000) throws -> [Result<RedisValue, RedisError>] {
        let reader = RedisReplyReader(maximumReplyBytes: maximumReplyBytes)
        try reader.feed(ByteBuffer(string: text))
        var replies: [Result<RedisValue, RedisError>] = []
        while let reply = try reader.next() { replies.append(reply) }
        return replies
    }

    private func string(_ text: String) -> RedisValue { .string(Array(text.utf8)) }

    @Test func readsEveryKindOfAnswer() throws {
        let replies = try read("+OK\r\n:-42\r\n$5\r\nhe\r\nl\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n").map { try $0.get() }
        #expect(replies == [string("OK"), .integer(-42), string("he\r\nl"), string(""), .null, .null, .array([])])
    }

    @Test func readsNestedArraysWithErrorsInThem() throws {
        let reply = try read("*3\r\n*2\r\n:1\r\n$-1\r\n-WRONGTYPE no\r\n$1\r\na\r\n").first?.get()
        #expect(reply == .array([.array([.integer(1), .null]), .error("WRONGTYPE no"), string("a")]))
    }

    @Test func tellsAnErrorAnswerFromAValue() throws {
        guard case .failure(let error) = try read("-WRONGTYPE Operation against a key\r\n").first else {
            return #expect(Bool(false))
        }
        #expect(error.code == .server)
        #expect(error.serverCode == "WRONGTYPE")
        #expect(!error.isUnavailable)
    }

    @Test(arguments: ["LOADING Redis is loading", "READONLY You can't write", "MASTERDOWN Link", "BUSY script"])
    func knowsWhichErrorsPass(_ message: String) {
        #expect(RedisError(serverMessage: message).isUnavailable)
    }

    /// As Redis 6 words what a command of a script meets.
    @Test(arguments: [
        ("ERR Error running script (call to f_1028): @user_script:4: @user_script: 4: -READONLY You can't", "READONLY"),
        ("ERR Error running script (call to f_1028): @user_script:4: -OOM command not allowed: no memory", "OOM"),
        ("ERR Error running script (call to f_1028): @user_script:4: attempt to index a nil value", "ERR"),
        ("ERR value is not an integer: -READONLY", "ERR"),
    ])
    func findsTheCodeOfACommandInAScript(message: String, code: String) {
        #expect(RedisError(serverMessage: message).serverCode == code)
    }

    @Test func readsAnAnswerByteByByte() throws {
        let reader = RedisReplyReader(maximumReplyBytes: 100)
        let text = Array("*2\r\n$3\r\nabc\r\n:7\r\n".utf8)
        for byte in text.dropLast() {
            try reader.feed(ByteBuffer(bytes: [byte]))
            #expect(try reader.next() == nil)
        }
        try reader.feed(ByteBuffer(bytes: [text[text.count - 1]]))
        #expect(try reader.next()?.get() == .array([string("abc"), .integer(7)]))
    }

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n", "$abc\r\n", ":1x\r\n", "*99999999999\r\n", "\u{0}\r\n"])
    func refusesWhatIsNotRESP(_ text: String) {
        #expect { try self.read(text) } throws: { ($0 as? RedisError)?.code == .protocolViolation }
    }

    @Test func anErrorIsFinal() throws {
        let reader = RedisReplyReader(maximumReplyBytes: 100)
        try reader.feed(ByteBuffer(string: "?\r\n"))
        #expect(throws: RedisError.self) { try reader.next() }
        #expect(throws: RedisError.self) {
            try reader.feed(ByteBuffer(string: "+OK\r\n"))
            _ = try reader.next()
        }
    }

    @Test func refusesAnAnswerThatIsTooLarge() throws {
        #expect { try self.read("$2000\r\n" + String(repeating: "a", count: 1_500)) } throws: {
            ($0 as? RedisError)?.code == .protocolViolation
        }
        // The elements that have been read already count.
        #expect(throws: RedisError.self) {
            try self.read("*500\r\n" + String(repeating: "+aaaaaaaaaa\r\n", count: 300))
        }
        let small = String(repeating: "+aaaaaaaaaa\r\n", count: 300)
        #expect(try read(small).count == 300)
        #expect(try read("$900\r\n" + String(repeating: "a", count: 900) + "\r\n").count == 1)
    }

    @Test func valuesReadAsWhatTheyAre() {
        #expect(RedisValue.integer(3).integer == 3)
        #expect(string("-12").integer == -12)
        #expect(string("x").integer == nil)
        #expect(string("x").string == "x")
        #expect(RedisValue.string([0xFF]).string == nil)
        #expect(RedisValue.string([0xFF]).bytes == [0xFF])
        #expect(RedisValue.array([.null]).array == [.null])
        #expect(RedisValue.null.isNull && RedisValue.null.array == nil && RedisValue.null.bytes == nil)
    }
}
