import ArgumentParser

/// The name of a profile, which is a folder's name too: 1 to 64 of `A–Z a–z 0–9 . _ -`, not beginning with `.` or `-`.
struct ProfileName: Sendable, Hashable, Comparable, ExpressibleByArgument, CustomStringConvertible {
    static let standard = ProfileName("default")

    let description: String

    private init(_ known: StaticString) { description = "\(known)" }

    init?(argument: String) {
        let isWord = argument.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isWord, (1...64).contains(argument.utf8.count), argument.first != ".", argument.first != "-" else {
            return nil
        }
        description = argument
    }

    static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}
