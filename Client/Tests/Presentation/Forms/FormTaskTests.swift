import Testing

@testable import GatehouseClient

@Suite("The task of a form")
struct FormTaskTests {
    private static let failure = GatehouseError(.offline)

    private func ended(_ error: GatehouseError?) -> FormTask<Int> {
        var task = FormTask<Int>.idle
        _ = task.begin(7)
        task.end(error)
        return task
    }

    @Test("One action runs at a time")
    func oneAtATime() {
        var task = FormTask<Int>.idle
        let first = task.begin(1)
        #expect(first && task.isWorking && task == .working(1))
        let second = task.begin(2)
        #expect(!second)
        task.dismiss()
        #expect(task == .working(1))
        task.end()
        #expect(task == .done(1) && !task.isWorking)
        let third = task.begin(2)
        #expect(third)
    }

    @Test("A failed action may be retried if the error allows it, and can be dismissed")
    func fails() {
        var task = ended(Self.failure)
        #expect(task == .failed(Self.failure, 7))
        #expect(task.error == Self.failure && task.retryableAction == 7)
        task.dismiss()
        #expect(task == .idle && task.error == nil && task.retryableAction == nil)
        let refused = ended(GatehouseError(.invalidCredentials))
        #expect(refused.error?.kind == .invalidCredentials && refused.retryableAction == nil)
    }

    @Test("A cancelled action is not an error")
    func cancelled() { #expect(ended(GatehouseError(.cancelled)) == .idle) }

    @Test("A result without a running action changes nothing", arguments: [nil, failure])
    func late(error: GatehouseError?) {
        for before in [FormTask.idle, ended(nil), ended(Self.failure)] {
            var task = before
            task.end(error)
            #expect(task == before)
        }
    }
}
