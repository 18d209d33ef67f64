import TestKit

/// What happens to one device in thirty days, whatever the rules of the server: drawn from the seed alone.
struct DevicePlan {
    static let days = 30
    static let day = 86_400
    static let lostResponsesPerDay = 0.05

    /// A refresh whose response never arrives.
    struct Loss {
        /// The first refresh from then on.
        var at: Int
        /// The app was killed: it asks again when the user opens it. Else it tries again by itself.
        var isKill: Bool
        /// Seconds after which the app tries again; more than one when the network stays bad.
        var retries: [Int]
    }

    enum Thief: CaseIterable {
        /// Asks once after a refresh of the device, always later than the retry window.
        case takingTurns
        /// Asks whenever its access token has run out, as an app that is never idle.
        case hourly
    }

    /// When the app calls its backend.
    private(set) var uses: [Int] = []
    private(set) var losses: [Loss] = []
    let thief: Thief?
    /// When the device's token is copied.
    let stealsAt: Int
    /// By how much the device's clock is ahead.
    let skew: Int
    /// From when on the database's clock is off by how much: it steps when a standby takes over.
    private(set) var serverSkews: [(from: Int, seconds: Int)] = []

    init(thief: Thief?, random: inout SeededGenerator) {
        self.thief = thief
        stealsAt = Int.random(in: Self.day..<10 * Self.day, using: &random)
        // One in a hundred has its clock set wrong by up to a day.
        let isFarOff = Int.random(in: 0..<100, using: &random) == 0
        let off = isFarOff ? Self.day : 300
        skew = Int.random(in: -off...off, using: &random)
        let usesPerDay = Int.random(in: 1...20, using: &random)
        for day in 0..<Self.days { add(usesPerDay, from: day * Self.day, &random) }
        uses.sort()
    }

    private mutating func add(_ usesPerDay: Int, from midnight: Int, _ random: inout SeededGenerator) {
        // Awake from 7 to 23.
        let (morning, night) = (midnight + 25_200, midnight + 82_800)
        for _ in 0..<usesPerDay { uses.append(.random(in: morning..<night, using: &random)) }
        serverSkews.append((.random(in: morning..<night, using: &random), .random(in: -2...2, using: &random)))
        guard Double.random(in: 0..<1, using: &random) < Self.lostResponsesPerDay else { return }
        var retries = [Int.random(in: 1...120, using: &random)]
        while retries.count < 4, Int.random(in: 0..<3, using: &random) == 0 {
            retries.append(.random(in: 1...120, using: &random))
        }
        losses.append(
            Loss(
                at: .random(in: morning..<night, using: &random), isKill: .random(using: &random), retries: retries))
    }
}
