/// The task of a form: the action that a button has begun, and its result. It uses no clock and no network.
///
/// ```swift
/// guard form.task.begin(.register(entry)) else { return }     // An action already runs.
/// ```
package enum FormTask<Action: Sendable & Equatable>: Sendable, Equatable {
    case idle
    /// Controls are disabled, and a progress indicator is shown.
    case working(Action)
    case failed(GatehouseError, Action)
    case done(Action)

    package var isWorking: Bool {
        if case .working = self { true } else { false }
    }

    package var isDone: Bool {
        if case .done = self { true } else { false }
    }

    package var error: GatehouseError? {
        if case .failed(let error, _) = self { error } else { nil }
    }

    /// The failed action, if "Try Again" is offered.
    package var retryableAction: Action? {
        if case .failed(let error, let action) = self, error.retry != .never { action } else { nil }
    }

    /// - Returns: whether the action begins. While another one runs, such as after a second tap, it does not.
    package mutating func begin(_ action: Action) -> Bool {
        guard !isWorking else { return false }
        self = .working(action)
        return true
    }

    /// Ends the running action. A cancelled one is not shown as an error.
    ///
    /// - Parameter error: `nil` if the action has succeeded.
    package mutating func end(_ error: GatehouseError? = nil) {
        guard case .working(let action) = self else { return }
        guard let error else { return self = .done(action) }
        self = error.kind == .cancelled ? .idle : .failed(error, action)
    }

    /// The user has dismissed the message. A running action continues.
    package mutating func dismiss() {
        if !isWorking { self = .idle }
    }
}

/// A form with one task at a time. A screen performs the action and passes its output to ``succeeded(_:with:)``.
package protocol TaskForm: Sendable, Equatable {
    associatedtype Action: Sendable, Equatable
    /// The result of a successful action.
    associatedtype Output: Sendable

    var task: FormTask<Action> { get set }

    /// Updates the form after an action. The task is still ``FormTask/working(_:)`` and is ended by the caller.
    mutating func succeeded(_ action: Action, with output: Output)
}

/// A form without fields, only with buttons.
package struct ButtonForm<Action: Sendable & Equatable>: TaskForm {
    package var task = FormTask<Action>.idle

    package init() {}

    package mutating func succeeded(_ action: Action, with output: Void) {}
}
