// Pure: no I/O, no clock.

/// Decides which names are looked up now, and which wait for a thread.
///
/// A look-up blocks its thread while the name's servers do not respond. So each name has one look-up at a time, and
/// names that were slow the last time get at most half of the threads.
struct LookupQueue: Sendable {
    /// Look-ups at once.
    let limit: Int
    private var running: Set<String> = []
    private var waiting: [String] = []
    /// Names whose last look-up was slow.
    private var slow: Set<String> = []

    init(limit: Int) { self.limit = limit }

    /// - Returns: the names whose look-up is to begin: this one, or none.
    mutating func request(_ name: String) -> [String] {
        guard !running.contains(name), !waiting.contains(name) else { return [] }
        waiting.append(name)
        return next()
    }

    /// - Returns: the names whose look-up is to begin now.
    mutating func ended(_ name: String, wasSlow: Bool) -> [String] {
        running.remove(name)
        if wasSlow { slow.insert(name) } else { slow.remove(name) }
        return next()
    }

    private mutating func next() -> [String] {
        var begun: [String] = []
        var slowOnes = running.count(where: slow.contains)
        waiting.removeAll { name in
            let isSlow = slow.contains(name)
            guard running.count < limit, !isSlow || slowOnes < limit / 2 else { return false }
            running.insert(name)
            begun.append(name)
            if isSlow { slowOnes += 1 }
            return true
        }
        return begun
    }
}
