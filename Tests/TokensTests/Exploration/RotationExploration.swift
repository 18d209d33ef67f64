/// Goes through every world that can follow from a sign-in, and holds each against the invariants.
struct RotationExploration {
    /// Refreshes that the app asks for in all.
    var presentations: Int
    /// Processes of the app, each of which waits for one answer at a time.
    var processes = 1
    /// How often time passes or PostgreSQL's clock steps.
    var clockEvents: Int
    /// `false` takes worlds for different that only look so: to hold the short way against the long one.
    var simplifies = true

    private(set) var worlds: [RotationModel: [Spent]] = [:]
    private var open: [[(world: RotationModel, spent: Spent)]] = []

    /// How much of its budget a world has used.
    struct Spent {
        var presentations = 0
        var clockEvents = 0
        /// A small step of PostgreSQL's clock while requests are under way.
        var slips = 0
    }

    init(presentations: Int, processes: Int = 1, clockEvents: Int, simplifies: Bool = true) {
        self.presentations = presentations
        self.processes = processes
        self.clockEvents = clockEvents
        self.simplifies = simplifies
    }

    mutating func run(_ rules: FlawedRules) async throws(RotationModel.Violation) {
        open = Array(repeating: [], count: presentations + clockEvents + 1)
        open[0].append((RotationModel(rules: rules), Spent()))
        // Cheap worlds first: what can follow from a world can also follow from the same world reached at less cost.
        for cost in open.indices {
            while let (world, spent) = open[cost].popLast() {
                guard visit(world, spent), world.row != nil else { continue }
                // Other tests need the thread as well.
                if worlds.count.isMultiple(of: 16) { await Task.yield() }
                try world.settle()
                try follow(world, spent)
            }
        }
    }

    private mutating func visit(_ world: RotationModel, _ spent: Spent) -> Bool {
        let before = worlds[world] ?? []
        for other in before
        where other.presentations <= spent.presentations && other.clockEvents <= spent.clockEvents
            && other.slips <= spent.slips
        { return false }
        worlds[world] = before + [spent]
        return true
    }

    private mutating func follow(_ world: RotationModel, _ spent: Spent) throws(RotationModel.Violation) {
        if spent.presentations < presentations, world.requests.count(where: { !$0.isAbandoned }) < processes {
            var spent = spent
            spent.presentations += 1
            // Redis may grant the lock to every request or to none, whichever request holds it.
            for seesLock in [false, true] {
                add(world, spent) { $0.send(seesLock: seesLock) }
            }
        }
        for (index, request) in world.requests.enumerated() {
            if index > 0, request == world.requests[index - 1] { continue }
            var next = world
            try next.advance(index)
            add(next, spent) { _ in }
            if !request.isAbandoned { add(world, spent) { $0.giveUp(index) } }
        }
        guard spent.clockEvents < clockEvents else { return }
        var later = spent
        later.clockEvents += 1
        // Across the race window, the retry window and the idle expiry; twice the last is the absolute one.
        for seconds in [6, 61, RotationModel.idleLifetime] {
            add(world, later) { $0.passTime(seconds) }
            // The threat model of docs/reference/tokens.md names a request under way while the clock steps so far.
            if world.requests.isEmpty { add(world, later) { $0.stepClock(seconds) } }
        }
        add(world, later) { $0.stepClock(-61) }
        if spent.slips == 0 {
            later.slips = 1
            add(world, later) { $0.stepClock(4) }
        }
    }

    private mutating func add(_ world: RotationModel, _ spent: Spent, _ change: (inout RotationModel) -> Void) {
        var next = world
        change(&next)
        if simplifies { next.simplify() } else { next.sort() }
        open[spent.presentations + spent.clockEvents].append((next, spent))
    }
}
