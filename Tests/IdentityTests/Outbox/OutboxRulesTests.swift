import Contracts
import Foundation
import Testing

@testable import IdentityService

@Suite struct OutboxRulesTests {
    @Test func aTaskThatEndsMakesRoomForThoseThatWait() {
        var places = OutboxPlaces()
        #expect(places.findFree() == OutboxPlaces.limit)
        // Fewer were due: the end of one is no reason to claim again.
        places.take(3, of: OutboxPlaces.limit)
        let isFirstRoom = places.release()
        #expect(!isFirstRoom)
        #expect(places.findFree() == OutboxPlaces.limit - 2)
        // As many as there were places: more may be due.
        places.take(OutboxPlaces.limit - 2, of: OutboxPlaces.limit - 2)
        #expect(places.findFree() == 0)
        let claims = [places.release(), places.release()]
        #expect(claims == [true, false])
        #expect(places.findFree() == 2)
    }

    @Test func theDelayDoublesUpToABound() {
        #expect(OutboxSchedule.delay(after: 1, spread: 0.5) == 0.5)
        #expect(OutboxSchedule.delay(after: 2, spread: 0.5) == 1)
        #expect(OutboxSchedule.delay(after: 1000, spread: 1) == 375)
        #expect(OutboxSchedule.delay(after: 0, spread: 0) == 0.375)
    }

    @Test func tasksAreReadAsTheyWereWritten() throws {
        let tasks: [OutboxTask] = [
            .snapshot, .revokeSessions(reason: .accountDisabled, except: UUID(), below: 2),
            .revokeSessions(reason: .passwordChanged, except: nil, below: 7), .revokeUnused(session: UUID()),
            .exchangeCode(subject: "001"),
            .passwordReset(channel: .email, language: nil),
            .passwordReset(channel: .phone, language: "de", isAskerKnown: true),
            .deletion(.sweepSessions),
        ]
        for task in tasks {
            #expect(try JSONDecoder().decode(OutboxTask.self, from: JSONEncoder().encode(task)) == task)
        }
    }

    /// A mail server that is slow or away holds no text message up.
    @Test func resetsWaitInTheQueueOfTheirChannel() throws {
        #expect(OutboxTask.passwordReset(channel: .phone, language: nil).destination == .phone)
        #expect(OutboxTask.passwordReset(channel: .email, language: nil).destination == .mail)
        let old = try JSONDecoder().decode(OutboxTask.self, from: Data(#"{"passwordReset":{"language":"de"}}"#.utf8))
        #expect(old == .passwordReset(channel: nil, language: "de") && old.destination == .mail)
    }

    @Test func theLastStepOfADeletionNeedsNoUser() {
        var steps: [DeletionStep] = [.revokeSessions]
        while let next = steps.last?.next { steps.append(next) }
        #expect(steps == [.revokeSessions, .eraseDevices, .sweepSessions, .revokeAtApple])
        #expect(steps.map(\.needsUser) == [true, true, true, false])
    }
}
