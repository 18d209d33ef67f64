import Dispatch
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The terminal that a person sits at, also where standard input is a file.
enum Terminal {
    /// - Returns: `nil` where there is no terminal.
    static func ask(_ question: Console.Question) async throws(CommandFailure) -> String? {
        let answer: Result<String?, CommandFailure>
        answer = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result { () throws(CommandFailure) in try answerTo(question) })
            }
        }
        return try answer.get()
    }

    /// Runs what may wait for a long time, a read for example, where none of Swift's shared threads waits with it.
    static func apart<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
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
