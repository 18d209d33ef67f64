import Foundation
import GatehouseContracts
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Each call: what is asked of the server, and what becomes of the session.
struct AccountTests {
    @Test func theUsersProfile() async throws {
        let signedIn = try await SignedIn()
        var renamed = Sample.user
        renamed.displayName = "Countess"
        await signedIn.transport.then(.json(Sample.user), .json(renamed))
        #expect(try await signedIn.client.me() == Sample.user)
        #expect(try await signedIn.client.updateProfile(displayName: "Countess") == renamed)
        #expect(await signedIn.client.session.state == .signedIn(renamed))
        let requests = await signedIn.requests
        #expect(requests.map(\.line) == ["GET /v1/auth/me", "PATCH /v1/auth/me"])
        #expect(requests.last?.json == #"{"displayName":"Countess"}"#)
        #expect(requests.allSatisfy { $0.bearer == "Bearer access-first" })
    }

    @Test func deletingTheAccountEndsTheSession() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.status(202))
        try await signedIn.client.deleteAccount()
        #expect(await signedIn.requests.map(\.line) == ["DELETE /v1/auth/account"])
        #expect(await signedIn.client.session.state == .signedOut(reason: .accountDeleted))
    }

    @Test func anAccountThatCouldNotBeDeletedStays() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.problem(.forbidden))
        await #expect(throws: GatehouseError.self) { try await signedIn.client.deleteAccount() }
        #expect(await signedIn.client.session.state == .signedIn(Sample.user))
    }

    @Test func theExport() async throws {
        let signedIn = try await SignedIn()
        let export = AccountExport(
            user: Sample.user, state: "active", phoneVerified: nil, apple: nil, passwordChangedAt: nil, sessions: [],
            knownDevices: nil, devices: [], events: [])
        await signedIn.transport.then(.json(export))
        #expect(try await signedIn.client.exportData() == export)
        #expect(await signedIn.requests.map(\.line) == ["GET /v1/auth/export"])
    }

    @Test func passwords() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.status(204), .status(202), .status(204))
        try await signedIn.client.changePassword(current: "old", new: "new")
        try await signedIn.client.requestPasswordReset(identifier: "ada@example.com")
        try await signedIn.client.resetPassword(token: "t", newPassword: "new")
        let requests = await signedIn.requests
        #expect(
            requests.map(\.line) == [
                "POST /v1/auth/password", "POST /v1/auth/password/forgot", "POST /v1/auth/password/reset",
            ])
        #expect(
            requests.map(\.json) == [
                #"{"currentPassword":"old","newPassword":"new"}"#,
                #"{"device":{"name":"Ada's phone"},"identifier":"ada@example.com"}"#,
                #"{"newPassword":"new","token":"t"}"#,
            ])
        #expect(requests.map(\.bearer) == ["Bearer access-first", nil, nil])
    }

    @Test func codes() async throws {
        let signedIn = try await SignedIn()
        let asked = CodeResponse(codeRequest: "r", expiresIn: 600, resendAfter: 30)
        await signedIn.transport.then(.json(asked), .status(204), .json(Sample.user))
        #expect(try await signedIn.client.requestCode(identifier: "ada@example.com", purpose: .verify) == asked)
        let user = try await signedIn.client.verify(identifier: "ada@example.com", code: "012 345", asked: asked)
        #expect(user == Sample.user)
        let requests = await signedIn.requests
        #expect(
            requests.map(\.line) == ["POST /v1/auth/code", "POST /v1/auth/code/verify", "GET /v1/auth/me"])
        #expect(
            requests[1].json == #"{"code":"012 345","codeRequest":"r","identifier":"ada@example.com"}"#)
        #expect(requests[0].json?.contains(#""purpose":"verify""#) == true)
        #expect(requests.map(\.bearer) == [nil, "Bearer access-first", "Bearer access-first"])
    }

    @Test func aWrongPasswordRenewsNothing() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.problem(.invalidCredentials))
        await #expect { try await signedIn.client.changePassword(current: "wrong", new: "new") } throws: {
            ($0 as? GatehouseError)?.kind == .invalidCredentials
        }
        #expect(await signedIn.requests.count == 1)
    }

    @Test func sessionsAndTheirEnds() async throws {
        let signedIn = try await SignedIn()
        let here = info(current: true)
        let there = info(current: false)
        await signedIn.transport.then(.json(SessionList(sessions: [here, there])), .status(204), .status(204))
        #expect(try await signedIn.client.sessions() == [here, there])
        try await signedIn.client.endSession(there)
        #expect(await signedIn.client.session.state.user != nil)
        try await signedIn.client.endSession(here)
        #expect(await signedIn.client.session.state == .signedOut(reason: .user))
        #expect(
            await signedIn.requests.map(\.line) == [
                "GET /v1/auth/sessions", "DELETE /v1/auth/sessions/\(there.id.uuidString.lowercased())",
                "POST /v1/auth/logout",
            ])
    }

    private func info(current: Bool) -> SessionInfo {
        let date = Date(timeIntervalSince1970: 1_800_000_000)
        return SessionInfo(id: UUID(), current: current, createdAt: date, lastUsedAt: date, expiresAt: date)
    }

    @Test func waysToSignIn() async throws {
        let signedIn = try await SignedIn()
        var linked = Sample.user
        linked.authProviders = [.password, .apple]
        await signedIn.transport.then(.json(linked), .json(Sample.user))
        let nonce = AppleNonce("n")
        #expect(try await signedIn.client.link(AppleCredential(identityToken: "t", nonce: nonce)) == linked)
        #expect(await signedIn.client.session.state == .signedIn(linked))
        #expect(try await signedIn.client.unlink(.apple) == Sample.user)
        let requests = await signedIn.requests
        #expect(requests.map(\.line) == ["POST /v1/auth/identities/apple", "DELETE /v1/auth/identities/apple"])
        #expect(requests.first?.json == #"{"identityToken":"t","nonce":"n"}"#)
    }

    @Test func pushDevices() async throws {
        let signedIn = try await SignedIn()
        let date = Date(timeIntervalSince1970: 1_800_000_000)
        let device = GatehouseClient.Device(
            id: UUID(), environment: .sandbox, bundleId: "com.example.app", kind: .alert, status: .active,
            createdAt: date, updatedAt: date)
        await signedIn.transport.then(.json(device), .json(DeviceList(devices: [device])), .status(204))
        let registration = Registration(token: "abcd", environment: .sandbox, bundleId: "com.example.app")
        #expect(try await signedIn.client.registerDevice(registration) == device)
        #expect(try await signedIn.client.devices() == [device])
        try await signedIn.client.unregister(device.id)
        let requests = await signedIn.requests
        #expect(
            requests.map(\.line) == [
                "POST /v1/devices/register", "GET /v1/devices",
                "DELETE /v1/devices/\(device.id.uuidString.lowercased())",
            ])
        #expect(requests.first?.json == #"{"bundleId":"com.example.app","environment":"sandbox","token":"abcd"}"#)
    }
}
