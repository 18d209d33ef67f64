import Foundation

/// Reads a file's lines a few at a time, however long it is.
struct LineReader {
    struct TooLong: Error, CustomStringConvertible {
        var line: Int
        var description: String { "Line \(line) is longer than \(LineReader.longestLine) bytes." }
    }

    /// In bytes.
    static let longestLine = 65_536
    private static let chunk = 1 << 18

    private let file: FileHandle
    private var rest: [UInt8] = []
    private var isAtEnd = false
    /// Lines that were read.
    private(set) var count = 0
    /// Bytes that were read from the file.
    private(set) var offset = 0

    init(_ file: FileHandle) {
        self.file = file
    }

    /// The next lines, with their numbers from 1, without blank ones.
    /// - Returns: `nil` at the end.
    mutating func next(_ limit: Int) throws -> [(number: Int, bytes: [UInt8])]? {
        var lines: [(number: Int, bytes: [UInt8])] = []
        while lines.count < limit {
            var start = rest.startIndex
            while lines.count < limit, let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
                try add(rest[start..<end], to: &lines)
                start = end + 1
            }
            rest.removeSubrange(..<start)
            guard lines.count < limit else { break }
            guard rest.count <= Self.longestLine else { throw TooLong(line: count + 1) }
            if isAtEnd {
                if !rest.isEmpty {
                    try add(rest[...], to: &lines)
                    rest = []
                }
                break
            }
            let more = try file.read(upToCount: Self.chunk) ?? Data()
            isAtEnd = more.isEmpty
            offset += more.count
            rest.append(contentsOf: more)
        }
        return lines.isEmpty ? nil : lines
    }

    private mutating func add(_ line: ArraySlice<UInt8>, to lines: inout [(number: Int, bytes: [UInt8])]) throws {
        count += 1
        guard line.count <= Self.longestLine else { throw TooLong(line: count) }
        let isBlank = line.allSatisfy {
            $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\t")
        }
        if !isBlank { lines.append((count, Array(line))) }
    }
}
