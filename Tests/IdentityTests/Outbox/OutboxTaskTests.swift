import Foundation
import GatehouseServiceContracts
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

@Suite struct OutboxTaskTests {
    @Test func aTaskThatEndsMakesRoomForThoseThatWait() {
        var permits = OutboxPermits()
        #expect(permits.findFree() == OutboxPermits.limit)
        // Fewer were due: the end of one is no reason to claim again.
        permits.take(3, of: OutboxPermits.limit)
        let isFirstRoom = permits.release()
        #expect(!isFirstRoom)
        #expect(permits.findFree() == OutboxPermits.limit - 2)
        // As many as there were permits: more may be due.
        permits.take(OutboxPermits.limit - 2, of: OutboxPermits.limit - 2)
        #expect(permits.findFree() == 0)
        let claims = [permits.release(), permits.release()]
        #expect(claims == [true, false])
        #expect(permits.findFree() == 2)
    }

    @Test func theDelayDoublesUpToABound() {
        #expect(OutboxSchedule.delay(after: 1, spread: 0.5) == 0.5)
        #expect(OutboxSchedule.delay(after: 2, spread: 0.5) == 1)
        #expect(OutboxSchedule.delay(after: 1000, spread: 1) == 375)
        #expect(OutboxSchedule.delay(after: 0, spread: 0) == 0.375)
    }

    /// Rows of every version are read: the form of each kind of task never changes.
    @Test func theStoredFormOfATaskStays() throws {
        let id = UUID(uuidString: "0B8B7CE4-2B67-4F1B-8F0C-3D1C1D7E9C55")!
        func check<Payload: OutboxPayload>(
            _ task: OutboxTask, as _: Payload.Type, _ kind: String, _ json: String
        ) throws {
            func value(_ text: String) throws -> NSDictionary? {
                try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary
            }
            #expect(task.kind == kind && Payload.kind == kind)
            #expect(try value(task.json()) == value(json))
            let payload = try Self.entry(task, json: json).payload(Payload.self)
            #expect(try value(OutboxTask(payload, for: task.destination).json()) == value(json))
        }
        try check(.snapshot, as: SnapshotTask.self, "snapshot", #"{"snapshot":{}}"#)
        try check(
            .revokeSessions(reason: .accountDisabled, except: id, below: 2), as: SessionsRevocationTask.self,
            "revoke_sessions", #"{"revokeSessions":{"reason":"accountDisabled","except":"\#(id)","below":2}}"#)
        try check(
            .revokeSessions(reason: .passwordChanged, except: nil, below: 7), as: SessionsRevocationTask.self,
            "revoke_sessions", #"{"revokeSessions":{"reason":"passwordChanged","below":7}}"#)
        try check(
            .endSession(session: id), as: SessionEndTask.self, "end_session",
            #"{"endSession":{"session":"\#(id)"}}"#)
        try check(
            .revokeUnused(session: id), as: UnusedSessionTask.self, "take_back",
            #"{"revokeUnused":{"session":"\#(id)"}}"#)
        try check(
            .exchangeCode(subject: "001"), as: AppleCodeTask.self, "exchange_code",
            #"{"exchangeCode":{"subject":"001"}}"#)
        try check(
            .message(channel: .phone), as: MessageTask.self, "message", #"{"message":{"channel":"phone"}}"#)
        try check(
            .passwordReset(channel: .email, language: nil), as: PasswordResetTask.self, "password_reset",
            #"{"passwordReset":{"channel":"email"}}"#)
        try check(
            .passwordReset(channel: .phone, language: "de", isAskerKnown: true), as: PasswordResetTask.self,
            "password_reset", #"{"passwordReset":{"channel":"phone","language":"de","isAskerKnown":true}}"#)
        try check(
            .identifierLost(channel: .email, language: "en"), as: IdentifierLossTask.self, "identifier_lost",
            #"{"identifierLost":{"channel":"email","language":"en"}}"#)
        try check(
            .deletion(.sweepSessions), as: DeletionTask.self, "deletion", #"{"deletion":{"_0":"sweepSessions"}}"#)
        try check(
            .revokeAppleGrant, as: AppleRevocationTask.self, "apple_revocation", #"{"appleRevocation":{}}"#)
    }

    private static func entry(_ task: OutboxTask, json: String) -> OutboxEntry {
        OutboxEntry(
            id: UUID(), kind: task.kind, destination: task.destination, json: json, revision: 0, attempts: 0,
            createdAt: .now)
    }

    @Test(arguments: ["null", "{}", #"{"deletion":{}}"#, #"{"deletion":{"_0":"tidyUp"}}"#, #"{"brewCoffee":{}}"#])
    func aPayloadOfAnotherVersionIsUnreadable(json: String) {
        #expect(throws: UnreadableOutboxTask.self) {
            try Self.entry(.deletion(.revokeSessions), json: json).payload(DeletionTask.self)
        }
    }

    /// A mail server that is slow or away holds no text message up.
    @Test func resetsWaitInTheQueueOfTheirChannel() throws {
        #expect(OutboxTask.passwordReset(channel: .phone, language: nil).destination == .phone)
        #expect(OutboxTask.passwordReset(channel: .email, language: nil).destination == .mail)
        let old = OutboxTask.passwordReset(channel: nil, language: "de")
        #expect(old.destination == .mail)
        let payload = try Self.entry(old, json: #"{"passwordReset":{"language":"de"}}"#).payload(PasswordResetTask.self)
        #expect(payload.channel == nil && payload.language == "de" && payload.isAskerKnown == nil)
    }

    @Test func theStepsOfADeletionFollowEachOther() {
        var steps: [DeletionStep] = [.revokeSessions]
        while let next = steps.last?.next { steps.append(next) }
        #expect(steps == [.revokeSessions, .eraseDevices, .sweepSessions])
        #expect(steps.map { OutboxTask.deletion($0).destination } == [.tokens, .devices, .tokens])
    }
}
