import Foundation

/// The identifier of a request in all services and logs (`X-Request-Id`).
public enum RequestID {
    /// A client's identifier is kept if it is 1 to 64 of `A–Z a–z 0–9 - _`.
    public static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
        (1...64).contains(bytes.count)
            && bytes.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// A new identifier.
    public static func make() -> String {
        UUID().uuidString.lowercased()
    }
}
