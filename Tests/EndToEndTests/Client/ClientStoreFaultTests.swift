import Foundation
import TestKit
import Testing

@testable import GatehouseClient

extension SystemTests {
    /// A store that fails, or is locked, at each step of a session.
    @Suite struct ClientStoreFaults {
        static let faults: [TokenStoreError] = [
            TokenStoreError(.deviceLocked, "OSStatus -25308"), TokenStoreError(.userPresenceNeeded),
            TokenStoreError(.failed, "errno 28"),
        ]

        private func kind(of fault: TokenStoreError) -> GatehouseError.Kind {
            fault.code == .failed ? .storage : .locked
        }

        @Test("At launch: nobody is taken for signed out, and later it goes on", arguments: faults)
        func launch(fault: TokenStoreError) async throws {
            let device = ClientDevice()
            _ = try await device.registered()
            let client = try device.launch()
            await device.store.fail(load: fault)
            let error = await #expect(throws: GatehouseError.self) { try await client.getProfile() }
            #expect(error?.kind == kind(of: fault))
            if case .signedOut = await client.session.state { Issue.record("signed out") }

            if fault.code == .userPresenceNeeded {
                #expect(await client.session.state == .locked(.userPresence))
                try await client.session.unlock(reason: "Show your orders")
            } else {
                await device.store.fail()
            }
            #expect(try await client.getProfile() == 200)
            #expect(device.telemetry.count(.sessionEnded) == 0)
        }

        @Test("In a sign-in: it fails, and the next one succeeds", arguments: faults)
        func signIn(fault: TokenStoreError) async throws {
            let device = ClientDevice()
            let identifier = Journey.uniqueEmail()
            let client = try device.launch()
            await device.store.fail(save: fault)
            let error = await #expect(throws: GatehouseError.self) {
                try await client.register(identifier: identifier, password: Journey.password)
            }
            #expect(error?.kind == kind(of: fault))
            #expect(await client.session.state == .signedOut(reason: nil))

            await device.store.fail()
            try await client.signIn(identifier: identifier, password: Journey.password)
            #expect(try await device.launch().getProfile() == 200)
        }

        @Test("Reading or saving in a refresh: the old token stays, and the next refresh succeeds", arguments: faults)
        func refresh(fault: TokenStoreError) async throws {
            let device = ClientDevice()
            let client = try await device.registered()
            for isRead in [true, false] {
                let token = try await client.session.accessToken()
                let stored = await device.store.data
                await device.store.fail(load: isRead ? fault : nil, save: isRead ? nil : fault)
                let error = await #expect(throws: GatehouseError.self) {
                    try await client.session.accessToken(after: token)
                }
                #expect(error?.kind == kind(of: fault))
                #expect(await client.session.state.user != nil)
                #expect(await device.store.data == stored)

                await device.store.fail()
                let renewed = try await client.session.accessToken(after: token)
                #expect(renewed != token)
                #expect(try await device.stored.session?.accessToken == renewed.value)
                #expect(try await client.getProfile() == 200)
            }
            #expect(device.telemetry.count(.sessionEnded) == 0)
        }

        @Test("In a sign-out: it has ended all the same, here and at the server", arguments: faults)
        func signOut(fault: TokenStoreError) async throws {
            let (device, tablet) = (ClientDevice(), ClientDevice())
            let identifier = Journey.uniqueEmail()
            let client = try await device.registered(identifier)
            let other = try await tablet.signedIn(identifier)
            await device.store.fail(save: fault)
            let error = await #expect(throws: GatehouseError.self) { try await client.signOut() }
            #expect(error?.kind == kind(of: fault))
            #expect(await client.session.state == .signedOut(reason: .user))
            #expect(try await other.sessions().count == 1)

            // What is left in the store opens nothing, and the next launch finds out.
            await device.store.fail()
            let next = try device.launch()
            try await eventually("the next launch is signed out") {
                do { _ = try await next.getProfile() } catch {}
                return await next.session.state == .signedOut(reason: .endedByServer)
            }
        }
    }
}
