import Foundation

/// A value behind a lock. (`Mutex` of the standard library needs iOS 18.)
///
/// `@unchecked Sendable` is safe: only ``withLock(_:)`` accesses the value, one thread at a time.
final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try lock.withLock { try body(&value) }
    }
}
