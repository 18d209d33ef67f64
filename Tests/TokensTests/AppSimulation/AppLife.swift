import TestKit

/// One app's month, event by event.
struct AppLife {
    struct Outcome: Sendable {
        var requests = 0
        /// Requests of a signed-in user that the server refused for want of a good access token.
        var refused = 0
        /// The user saw a login page without having asked for the end of the session.
        var signOuts = 0
        var network = SimulatedNetwork.Count()
    }

    private let device: SimulatedDevice
    private var running: (app: GatehouseApp, process: SimulatedProcess)?
    private var outcome = Outcome()
    /// Whether the user has signed in, and nothing has come between since that they know of.
    private var expectsSession = false
    /// Whether the user has asked for the end of the session.
    private var isAsked = false

    init(_ device: SimulatedDevice) { self.device = device }

    mutating func run(_ plan: AppPlan) async throws -> Outcome {
        for (time, event) in plan.events {
            device.clock.advance(to: time)
            try await apply(event)
            await running?.app.settle()
        }
        running?.process.kill()
        outcome.network = device.network.count
        return outcome
    }

    private mutating func apply(_ event: AppPlan.Event) async throws {
        switch event {
        case .use(let requests): try await use(requests)
        case .kill: kill()
        case .reboot(let launches):
            kill()
            device.storage.isLocked = true
            if launches { _ = try await process().request() }
        case .unlock: device.storage.isLocked = false
        case .network(let isOnline): device.network.set(online: isOnline)
        case .saves(let work): device.storage.isFull = !work
        case .outage(let isAway): device.server.setAway(isAway)
        case .limit(let isLimiting): device.server.setLimiting(isLimiting)
        case .clock(let seconds): device.clock.set(forward: seconds)
        case .revocation:
            device.server.revokeAll()
            isAsked = true
        case .signOut:
            let app = try await process()
            guard await app.sight == .signedIn else { return }
            isAsked = true
            await app.signOut()
            expectsSession = false
        }
    }

    private mutating func use(_ requests: Int) async throws {
        // A device that is used has been unlocked.
        device.storage.isLocked = false
        var app = try await process()
        await look(at: app)
        if await app.sight == .signedOut {
            await app.signIn()
            await look(at: app)
            // Where that could not be stored, the next launch may still find the session that the user ended.
            if await app.sight == .signedIn { isAsked = false }
            app = try await process()
        }
        let outcomes = await withTaskGroup(of: RequestOutcome.self) { [app] group in
            for _ in 0..<requests { group.addTask { await app.request() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        outcome.requests += requests
        await look(at: app)
        if expectsSession, !isAsked { outcome.refused += outcomes.count { $0 == .refused } }
    }

    /// What the user sees.
    private mutating func look(at app: GatehouseApp) async {
        guard running?.process.isAlive == true else { return }
        switch await app.sight {
        case .signedIn: expectsSession = true
        case .signedOut:
            guard expectsSession else { return }
            expectsSession = false
            if !isAsked { outcome.signOuts += 1 }
        case .neither: break
        }
    }

    /// The app's process: the one that runs, or a new one.
    private mutating func process() async throws -> GatehouseApp {
        if let running, running.process.isAlive { return running.app }
        let process = SimulatedProcess()
        let app = try GatehouseApp(device, process)
        running = (app, process)
        await app.launch()
        return app
    }

    private mutating func kill() {
        running?.process.kill()
        running = nil
    }
}
