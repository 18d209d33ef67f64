import TestKit

/// What happens to one installation of an app in thirty days, whatever the rules it follows: drawn from the seed alone.
struct AppPlan: Sendable {
    static let days = 30
    static let day = 86_400

    enum Event: Sendable, Equatable {
        /// The user does something, and the app sends so many requests at once.
        case use(requests: Int)
        /// The system ends the app's process.
        case kill
        /// The device is started anew. Until its user unlocks it, the store cannot be read; a push, or the system ahead
        /// of its user, may launch the app meanwhile.
        case reboot(launches: Bool)
        case unlock
        case network(Bool)
        case saves(Bool)
        /// The gateway answers 503.
        case outage(Bool)
        /// It answers 429.
        case limit(Bool)
        /// The device's clock is set, seconds forward.
        case clock(Int)
        /// The server is asked to end the session: from another device, by an operator.
        case revocation
        case signOut
    }

    private(set) var events: [(at: Int, event: Event)] = []

    init(random: inout SeededGenerator) {
        // One device in a hundred has its clock set wrong by up to a day, the others by up to five minutes.
        let isFarOff = Int.random(in: 0..<100, using: &random) == 0
        let off = isFarOff ? Self.day : 300
        events.append((0, .clock(.random(in: -off...off, using: &random))))
        let visitsPerDay = Int.random(in: 1...6, using: &random)
        for day in 0..<Self.days { add(visitsPerDay, from: day * Self.day, &random) }
        // Stable, so that equal times keep the order in which they were drawn.
        events = events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }

    private mutating func add(_ visits: Int, from midnight: Int, _ random: inout SeededGenerator) {
        // Awake from 7 to 23.
        let (morning, night) = (midnight + 25_200, midnight + 82_800)
        for _ in 0..<visits {
            var time = Int.random(in: morning..<night, using: &random)
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                events.append((time, .use(requests: .random(in: 1...3, using: &random))))
                time += .random(in: 1...2400, using: &random)
            }
            // The system takes the memory of an app in the background sooner or later.
            if Bool.random(using: &random) { events.append((time, .kill)) }
        }
        func happens(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &random) < probability }
        func moment() -> Int { .random(in: morning..<night, using: &random) }
        func span(_ seconds: ClosedRange<Int>, _ change: (Bool) -> Event, from begin: Bool) {
            let start = moment()
            events.append((start, change(begin)))
            events.append((start + .random(in: seconds, using: &random), change(!begin)))
        }
        if happens(0.4) { span(1800...21_600, Event.network, from: false) }
        if happens(0.02) { span(60...3600, Event.outage, from: true) }
        if happens(0.02) { span(60...600, Event.limit, from: true) }
        if happens(0.02) { span(600...7200, Event.saves, from: false) }
        if happens(0.03) { events.append((moment(), .clock(.random(in: -Self.day...Self.day, using: &random)))) }
        if happens(0.05) {
            let start = moment()
            events.append((start, .reboot(launches: .random(using: &random))))
            events.append((start + .random(in: 10...7200, using: &random), .unlock))
        }
        if happens(0.02) { events.append((moment(), .revocation)) }
        if happens(0.02) { events.append((moment(), .signOut)) }
    }
}
