import TestKit

/// What a count has come to once it goes no further for a while.
func whenStill(_ what: String, _ count: () -> Int) async throws -> Int {
    var (last, repeats) = (0, 0)
    try await eventually(what) {
        let now = count()
        repeats = now == last && now > 0 ? repeats + 1 : 0
        last = now
        return repeats == 20
    }
    return last
}
