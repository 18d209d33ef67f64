/// What a count has come to once it goes no further for a while.
public func whenStill(
    _ what: String, isolation: isolated (any Actor)? = #isolation, _ count: () async throws -> Int
) async throws -> Int {
    var (last, repeats) = (0, 0)
    try await eventually(what) {
        let now = try await count()
        repeats = now == last && now > 0 ? repeats + 1 : 0
        last = now
        return repeats == 20
    }
    return last
}
