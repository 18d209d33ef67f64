/// Numbers for identifiers that only need to differ (xorshift64*, seeded from the system).
struct FastRandom: RandomNumberGenerator {
    private var state = UInt64.random(in: 1 ... .max)

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }
}
