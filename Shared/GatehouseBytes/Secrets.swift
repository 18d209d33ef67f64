/// Compares bytes in a time that depends only on the lengths, so that it does not reveal where they differ.
@inlinable
public func constantTimeEqual(_ first: some Collection<UInt8>, _ second: some Collection<UInt8>) -> Bool {
    guard first.count == second.count else { return false }
    var difference: UInt8 = 0
    for (one, other) in zip(first, second) { difference |= one ^ other }
    return difference == 0
}

extension [UInt8] {
    /// Random bytes from the system's secure generator.
    public static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
