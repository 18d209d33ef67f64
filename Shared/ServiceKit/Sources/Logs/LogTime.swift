import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The time of a log line: ISO 8601 in UTC with microseconds. Foundation's formatters cost more than the line.
enum LogTime {
    static func now() -> String {
        let now = Date.now.timeIntervalSince1970
        let seconds = now.rounded(.down)
        return text(seconds: Int(seconds), microseconds: Int((now - seconds) * 1e6))
    }

    static func text(seconds: Int, microseconds: Int) -> String {
        var seconds = seconds
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return String(unsafeUninitializedCapacity: 27) { buffer in
            func put(_ value: Int, _ digits: Int, at offset: Int) {
                var value = value
                for index in (offset..<offset + digits).reversed() {
                    buffer[index] = UInt8(ascii: "0") + UInt8(value % 10)
                    value /= 10
                }
            }
            put(Int(parts.tm_year) + 1900, 4, at: 0)
            buffer[4] = UInt8(ascii: "-")
            put(Int(parts.tm_mon) + 1, 2, at: 5)
            buffer[7] = UInt8(ascii: "-")
            put(Int(parts.tm_mday), 2, at: 8)
            buffer[10] = UInt8(ascii: "T")
            put(Int(parts.tm_hour), 2, at: 11)
            buffer[13] = UInt8(ascii: ":")
            put(Int(parts.tm_min), 2, at: 14)
            buffer[16] = UInt8(ascii: ":")
            put(Int(parts.tm_sec), 2, at: 17)
            buffer[19] = UInt8(ascii: ".")
            put(microseconds, 6, at: 20)
            buffer[26] = UInt8(ascii: "Z")
            return 27
        }
    }
}
