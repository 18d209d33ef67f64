import Foundation

/// The lines of a file that may be larger than memory.
struct HashListReader {
    /// Bytes. Longer lines are an error of whoever calls: no list of hashes has them.
    static let longestLine = 4096
    private static let chunk = 1 << 20

    let path: String

    /// Calls `body` with each line, without its line feed, and its number from 1 on. Empty lines are left out.
    func forEach(_ body: (UnsafeRawBufferPointer, Int) throws -> Void) throws {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw PasswordFilterError("\(path) cannot be read: \(PasswordFilterError.system)") }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: Self.longestLine + Self.chunk)
        var (kept, number) = (0, 0)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(file, $0.baseAddress! + kept, Self.chunk) }
            guard count >= 0 else { throw PasswordFilterError("\(path) cannot be read: \(PasswordFilterError.system)") }
            let filled = kept + count
            kept = try buffer.withUnsafeMutableBytes { bytes in
                var rest = UnsafeRawBufferPointer(rebasing: bytes[..<filled])
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    number += 1
                    if end > 0 { try body(UnsafeRawBufferPointer(rebasing: rest[..<end]), number) }
                    rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
                }
                guard rest.count <= Self.longestLine else {
                    throw PasswordFilterError("\(path): line \(number + 1) is longer than \(Self.longestLine) bytes")
                }
                if count == 0, !rest.isEmpty { try body(rest, number + 1) }
                let left = rest.count
                bytes.copyBytes(from: Array(rest))
                return left
            }
            if count == 0 { return }
        }
    }
}
