import Dispatch
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The user's terminal, even if standard input is redirected.
enum Terminal {
    /// - Returns: `nil` if there is no terminal.
    static func ask(_ question: Console.Question) async throws(CommandFailure) -> String? {
        let answer: Result<String?, CommandFailure>
        answer = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result { () throws(CommandFailure) in try answerTo(question) })
            }
        }
        return try answer.get()
    }

    /// Runs a blocking operation, such as a read, outside Swift's shared threads.
    static func runBlocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try work() }) }
        }
    }

    private static func answerTo(_ question: Console.Question) throws(CommandFailure) -> String? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        switch question {
        case .line(let text):
            show(text, on: terminal)
            return try line(from: terminal)
        case .secret(let text):
            var before = termios()
            guard tcgetattr(terminal, &before) == 0 else { return nil }
            var quiet = before
            quiet.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
            guard tcsetattr(terminal, TCSAFLUSH, &quiet) == 0 else { return nil }
            defer {
                tcsetattr(terminal, TCSAFLUSH, &before)
                show("\n", on: terminal)
            }
            show(text, on: terminal)
            return try line(from: terminal)
        }
    }

    private static func line(from terminal: Int32) throws(CommandFailure) -> String {
        var line = SecretLine()
        while true {
            var key: UInt8 = 0
            let count = read(terminal, &key, 1)
            if count < 0 && errno == EINTR { continue }
            switch count == 1 ? line.take(key) : .cancelled {
            case .more: continue
            case .done(let text): return text
            case .cancelled: throw CommandFailure(.interrupted, "Cancelled.", code: "cancelled")
            }
        }
    }

    private static func show(_ text: String, on terminal: Int32) {
        _ = Array(text.utf8).withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) }
    }
}

/// A line that is read without echo. The terminal delivers each key, so that the program can restore the terminal
/// before Ctrl-C ends it.
struct SecretLine: Sendable {
    enum Step: Sendable, Equatable {
        case more
        case done(String)
        case cancelled
    }

    /// In bytes; the rest is dropped.
    static let longest = 4096

    private var bytes: [UInt8] = []

    mutating func take(_ key: UInt8) -> Step {
        switch key {
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return .done(String(decoding: bytes, as: UTF8.self))
        // Ctrl-C
        case 0x03: return .cancelled
        // Ctrl-D ends a line that has begun; on an empty line it ends the input.
        case 0x04: return bytes.isEmpty ? .cancelled : .done(String(decoding: bytes, as: UTF8.self))
        // Backspace or Delete removes a whole UTF-8 character.
        case 0x08, 0x7F:
            while let last = bytes.popLast(), last & 0b1100_0000 == 0b1000_0000 {}
        // Ctrl-U
        case 0x15: bytes.removeAll()
        case 0..<0x20: break
        default: if bytes.count < Self.longest { bytes.append(key) }
        }
        return .more
    }
}

/// The source of a password. It is never the command line, which other users of the machine can read and shells record.
struct PasswordInput: Sendable {
    var console: Console

    /// - Parameters:
    ///   - fromInput: reads the first line of standard input instead of the terminal.
    ///   - repeated: asks twice, for a new password.
    func read(fromInput: Bool, repeated: Bool = false) async throws(CommandFailure) -> String {
        let password: String
        if fromInput {
            password = try await firstLine()
        } else {
            password = try await ask("Password: ")
            if repeated, try await ask("Password again: ") != password {
                throw CommandFailure(.invalidInput, "The two passwords are not the same.")
            }
        }
        guard !password.isEmpty else { throw CommandFailure(.invalidInput, "The password is empty.") }
        return password
    }

    private func ask(_ text: String) async throws(CommandFailure) -> String {
        guard let answer = try await console.ask(.secret(text)) else {
            throw CommandFailure(
                .usage, "The password cannot be read: no terminal.", details: ["Use --password-stdin"])
        }
        return answer
    }

    private func firstLine() async throws(CommandFailure) -> String {
        let data: Data
        do { data = try await console.readInput() } catch {
            throw CommandFailure(.noInput, "Standard input cannot be read.")
        }
        guard let text = String(data: data.prefix { $0 != UInt8(ascii: "\n") }, encoding: .utf8) else {
            throw CommandFailure(.invalidInput, "The password on standard input is not UTF-8.")
        }
        return text.hasSuffix("\r") ? String(text.dropLast()) : text
    }
}
