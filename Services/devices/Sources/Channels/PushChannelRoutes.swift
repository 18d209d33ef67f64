import Crypto
import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Hummingbird

/// The routes of broadcast channels. A caller sees the channels of its apps.
struct PushChannelRoutes: Sendable {
    /// How long a request waits for a connection to APNs.
    private static let longestWait: Duration = .seconds(4)

    let store: PushChannelStore
    let pushes: PushRoutes
    /// Sends requests to APNs.
    let send: @Sendable (ChannelRequest) async -> SendOutcome

    func add(to router: ServiceRouter) {
        router.internal(callers: pushes.callers.names)
            .post("/push/channels", use: create)
            .get("/push/channels", use: list)
            .delete("/push/channels/{id}", use: delete)
            .post("/push/channels/{id}/publish", use: publish)
    }

    private func create(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let input = try await request.decode(PushChannelRequest.self)
        try check(input.bundleId, input.environment, context)
        let channelID = try PushChannelRules.created(
            await call(.create(input.storage), input.bundleId, input.environment))
        let channel = PushChannel(
            id: PushChannelRules.id(ofChannel: channelID, app: input.bundleId, in: input.environment),
            channelId: channelID, bundleId: input.bundleId, environment: input.environment, storage: input.storage)
        try await store.keep(channel)
        return try .json(channel, status: .created, holdsToken: true)
    }

    private func list(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let query = request.uri.queryParameters
        let (bundleID, environment) = (
            query.get("bundleId") ?? "", PushEnvironment(rawValue: query.get("environment") ?? "")
        )
        try check(bundleID, environment, context)
        let after = try PushRoutes.cursor(of: request, UUID.init(uuidString:))
        // Further pages are of the same list.
        if after == nil {
            let start = ContinuousClock.now
            let channelIDs = try PushChannelRules.listed(await call(.list, bundleID, environment))
            try await store.reconcile(channelIDs, of: bundleID, in: environment, age: .now - start)
        }
        return try .json(await store.channels(of: bundleID, in: environment, after: after), holdsToken: true)
    }

    private func delete(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let channel = try await channel(context)
        // The row goes last: it is there for a repetition, if Apple's answer is lost.
        try PushChannelRules.deleted(await call(.delete(channel.channelId), channel.bundleId, channel.environment))
        try await store.remove(channel.id)
        return .empty()
    }

    private func publish(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let (key, caller) = (try PushRoutes.key(of: request), try pushes.caller(context))
        try pushes.checkCanSend()
        let (input, body, payload) = try await PushRoutes.decode(PushBroadcast.self, from: request)
        let channel = try await withStorage(channel(context))
        let broadcast = try PushChannelRules.validate(input, payload: payload, to: channel, now: .now)
        var hash = SHA256()
        hash.update(data: Data(channel.id.uuidString.utf8))
        hash.update(data: body)
        return try await pushes.keep(broadcast, of: caller, key: key, hash: Data(hash.finalize()))
    }

    /// The channel of the path, if it is of an app of the caller.
    private func channel(_ context: GatehouseRequestContext) async throws -> PushChannel {
        let caller = try pushes.caller(context)
        guard let channel = try await store.channel(context.uuid("id")),
            caller.allows(.liveactivity, to: channel.bundleId)
        else { throw Problem(.notFound) }
        return channel
    }

    /// The channel, with its storage as Apple says if Gatehouse does not know it.
    private func withStorage(_ channel: PushChannel) async throws -> PushChannel {
        guard channel.storage == nil else { return channel }
        var known = channel
        known.storage = try PushChannelRules.read(
            await call(.read(channel.channelId), channel.bundleId, channel.environment))
        guard known.storage != nil else {
            try await store.remove(channel.id)
            throw Problem(.notFound)
        }
        try await store.keep(known)
        return known
    }

    private func check(
        _ bundleID: String, _ environment: PushEnvironment, _ context: GatehouseRequestContext
    ) throws {
        let caller = try pushes.caller(context)
        try pushes.checkCanSend()
        try PushChannelRules.validate(bundleID: bundleID, environment: environment)
        guard caller.allows(.liveactivity, to: bundleID) else { throw Problem(.forbidden) }
    }

    private func call(
        _ operation: ChannelRequest.Operation, _ bundleID: String, _ environment: PushEnvironment
    ) async -> SendOutcome {
        await send(
            ChannelRequest(
                bundleID: bundleID, environment: environment, operation: operation,
                sendBefore: .now + Self.longestWait))
    }
}
