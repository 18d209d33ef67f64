extension UInt8 {
    /// The lower-case letter for an upper-case one; every other byte itself.
    var lowercased: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }
}

extension UnsafeRawBufferPointer {
    /// Equal to `text`, which is in lower case, but for the case of letters.
    func equalsFolded(_ text: StaticString) -> Bool {
        equalsFolded(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Equal but for the case of letters.
    func equalsFolded(_ other: UnsafeRawBufferPointer) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.lowercased == $1.lowercased }
    }
}
