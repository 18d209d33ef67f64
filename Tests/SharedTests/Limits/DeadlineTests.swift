import GatehouseLimits
import Testing

@Suite struct DeadlineTests {
    @Test func theCurrentDeadlineIsThatOfTheInnermostCall() async {
        let (outer, inner) = (Deadline.after(.seconds(60)), Deadline.after(.seconds(1)))
        #expect(Deadline.current == nil)
        await Deadline.with(outer) {
            #expect(Deadline.current == outer)
            await Deadline.with(inner) { #expect(Deadline.current == inner) }
            await Deadline.with(nil) { #expect(Deadline.current == nil) }
            #expect(Deadline.current == outer)
        }
        #expect(Deadline.current == nil)
    }

    @Test func tasksInheritItUnlessDetached() async {
        let deadline = Deadline.after(.seconds(60))
        await Deadline.with(deadline) {
            async let child = Deadline.current
            #expect(await child == deadline)
            #expect(await Task { Deadline.current }.value == deadline)
            #expect(await Task.detached { Deadline.current }.value == nil)
        }
    }

    @Test func errorsKeepTheirType() async {
        enum Trouble: Error { case some }
        do throws(Trouble) {
            try await Deadline.with(nil) { () throws(Trouble) in throw Trouble.some }
            Issue.record("the error was lost")
        } catch {
            #expect(error == .some)
        }
    }

    @Test func postgreSQLHasNoMoreTimeThanItsOwn() {
        let long = Deadline(.now + .seconds(600), databaseTimeout: .seconds(1))
        #expect(long.forDatabase.remaining <= .seconds(1))
        let short = Deadline(.now + .seconds(1), databaseTimeout: .seconds(600))
        #expect(short.forDatabase == short)
    }

    @Test("Shielded work: it has no deadline and is not cancelled")
    func shieldedWork() async {
        let caller = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await Deadline.with(.after(.zero)) {
                #expect(Task.isCancelled && Deadline.current?.hasPassed == true)
                await Deadline.shielded { #expect(!Task.isCancelled && Deadline.current == nil) }
            }
            return true
        }
        #expect(await caller.value)
    }
}
