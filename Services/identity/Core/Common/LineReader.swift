package import Foundation

/// Reads a file's lines one at a time, for files of any length. A byte-order mark before the first line is skipped.
package struct LineReader {
    /// Why a file cannot be read to its end.
    package enum Failure: Error, CustomStringConvertible {
        case tooLong(line: Int, limit: Int)
        case unreadable(String)

        package var description: String {
            switch self {
            case .tooLong(let line, let limit): "Line \(line) is longer than \(limit) bytes."
            case .unreadable(let reason): "The file cannot be read: \(reason)."
            }
        }
    }

    private static let chunk = 1 << 18
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private let file: FileHandle
    private let longestLine: Int
    /// Bytes that were read and not yet returned lie between `start` and `end`.
    private var buffer: [UInt8]
    private var start = 0
    private var end = 0
    private var isAtEnd = false
    /// Lines that were read.
    package private(set) var count = 0
    /// Bytes that were read from the file.
    package private(set) var offset = 0

    /// - Parameter longestLine: in bytes; a longer line is an error.
    package init(_ file: FileHandle, longestLine: Int) {
        self.file = file
        self.longestLine = longestLine
        buffer = [UInt8](repeating: 0, count: longestLine + Self.chunk)
    }

    /// Calls `body` with the next line, without its line feed, and its number from 1 on. The bytes are valid during the
    /// call only.
    ///
    /// - Returns: `nil` at the end of the file.
    /// - Throws: ``Failure``, and what `body` throws.
    package mutating func next<Result>(_ body: (UnsafeRawBufferPointer, Int) throws -> Result) throws -> Result? {
        var searched = 0
        while true {
            let (first, last) = (start + searched, end)
            let lineEnd = buffer.withUnsafeBytes { $0[first..<last].firstIndex(of: UInt8(ascii: "\n")) }
            if let lineEnd {
                defer { start = lineEnd + 1 }
                return try line(upTo: lineEnd, body)
            }
            searched = end - start
            guard searched <= longestLine else { throw Failure.tooLong(line: count + 1, limit: longestLine) }
            if isAtEnd {
                guard searched > 0 else { return nil }
                defer { start = end }
                return try line(upTo: end, body)
            }
            try fill()
        }
    }

    private mutating func line<Result>(
        upTo lineEnd: Int, _ body: (UnsafeRawBufferPointer, Int) throws -> Result
    ) throws -> Result {
        count += 1
        let mark: [UInt8] =
            count == 1 && buffer[start..<lineEnd].starts(with: Self.byteOrderMark) ? Self.byteOrderMark : []
        let (first, number) = (start + mark.count, count)
        guard lineEnd - first <= longestLine else { throw Failure.tooLong(line: number, limit: longestLine) }
        return try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[first..<lineEnd]), number) }
    }

    /// Moves the remaining bytes to the front of the buffer, and reads more after them.
    private mutating func fill() throws {
        let rest = end - start
        let (first, descriptor) = (start, file.fileDescriptor)
        let added = buffer.withUnsafeMutableBytes { bytes in
            if first > 0 { memmove(bytes.baseAddress!, bytes.baseAddress! + first, rest) }
            return read(descriptor, bytes.baseAddress! + rest, bytes.count - rest)
        }
        guard added >= 0 else { throw Failure.unreadable(String(cString: strerror(errno))) }
        (start, end) = (0, rest + added)
        isAtEnd = added == 0
        offset += added
    }
}
