import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Hummingbird

/// The users' routes. The gateway has authenticated the user.
struct DeviceRoutes: Sendable {
    let store: DeviceStore
    let registrations: RegistrationStore
    let timeZones: TimeZoneDatabase

    func add(to router: ServiceRouter) {
        router.post("/v1/devices/register", use: register)
        router.get("/v1/devices", use: list)
        router.delete("/v1/devices/{id}", use: delete)
    }

    private func register(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.requireUser()
        let registration = try ValidRegistration(
            await request.decode(Registration.self), timeZones: timeZones)
        let device = try await registrations.register(registration, user: user.id, session: user.sessionID)
        // The session was revoked after the gateway had verified its access token, or is another user's.
        guard let device else { throw Problem(.invalidToken) }
        return try .json(device)
    }

    private func list(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.requireUser()
        let devices = try await store.devices(of: user.id)
        return try .json(DeviceList(devices: devices.map(Device.init)))
    }

    private func delete(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.requireUser()
        let wasThere = try await store.remove(context.uuid("id"), of: user.id)
        guard wasThere else { throw Problem(.notFound) }
        return .empty()
    }
}

/// Identity's routes: export and erase all devices and tags of a user.
struct UserRoutes: Sendable {
    let store: DeviceStore

    func add(to router: ServiceRouter) {
        router.internal(callers: "identity")
            .get("/users/{id}/devices", use: export)
            .delete("/users/{id}", use: erase)
    }

    private func export(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.uuid("id")
        let devices = try await store.devices(of: user)
        let tags = try await UserTagStore(database: store.database).tags(of: user)
        return try .json(DeviceExport(devices: devices, tags: tags))
    }

    /// Answers 204 even if the user has no devices: identity retries until it receives 204.
    private func erase(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        try await store.erase(user: context.uuid("id"))
        return .empty()
    }
}

extension TooManyNewTokens: ProblemConvertible {
    var problem: Problem {
        // PostgreSQL counts by days in UTC.
        let left = 86_400 - Int(Date.now.timeIntervalSince1970) % 86_400
        return Problem(.rateLimited, "Too many new push tokens.", retryAfter: left)
    }
}

extension InvalidRegistration: ProblemConvertible {
    var problem: Problem {
        Problem(
            .invalidRequest, "Some of the input is not valid.",
            errors: fields.map { Problem.FieldError(field: $0.name, message: $0.message) })
    }
}

extension TimeZoneDatabase {
    /// This machine's time zone database. Without one, the names that Foundation knows.
    static func system(database: String = "/usr/share/zoneinfo/tzdata.zi") -> TimeZoneDatabase {
        if let text = try? String(contentsOfFile: database, encoding: .utf8) {
            let names = TimeZoneDatabase(zic: text)
            if !names.isEmpty { return names }
        }
        return TimeZoneDatabase(TimeZone.knownTimeZoneIdentifiers)
    }
}
