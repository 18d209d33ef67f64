import Foundation
import Synchronization

/// The memory that hashing needs, 19 MiB for each hash under way. It is kept from one hash to the next, because fresh
/// pages make a hash a tenth slower, and given back to the system when nobody has signed in for a while.
///
/// The library wipes a block before it gives it back.
final class HashMemory: Sendable {
    /// One for the process, because the library's callbacks are given no context.
    static let shared = HashMemory()

    private struct Block {
        var address: UInt
        var size: Int
        var freedAt: ContinuousClock.Instant
    }

    private let free = Mutex<[Block]>([])

    /// Memory of exactly `size` bytes, `nil` when the system has none.
    func take(_ size: Int) -> UnsafeMutableRawPointer? {
        let kept = free.withLock { free in
            free.lastIndex { $0.size == size }.map { free.remove(at: $0).address }
        }
        if let kept { return UnsafeMutableRawPointer(bitPattern: kept) }
        let fresh = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        return fresh == MAP_FAILED ? nil : fresh
    }

    func giveBack(_ block: UnsafeMutableRawPointer, size: Int) {
        free.withLock { free in
            free.append(Block(address: UInt(bitPattern: block), size: size, freedAt: .now))
        }
    }

    var isEmpty: Bool {
        free.withLock(\.isEmpty)
    }

    /// Gives back to the system what has not been used for `age`.
    func trim(idleFor age: Duration) {
        let now = ContinuousClock.now
        let old = free.withLock { free in
            let old = free.filter { now - $0.freedAt >= age }
            free.removeAll { now - $0.freedAt >= age }
            return old
        }
        for block in old {
            munmap(UnsafeMutableRawPointer(bitPattern: block.address), block.size)
        }
    }
}
