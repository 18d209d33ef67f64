/// The list of the user's sessions, and the actions on it.
package struct SessionsForm: TaskForm {
    package enum Action: Sendable, Equatable {
        case load
        case end(SessionInfo)
        /// Ends all sessions except the one on this device.
        case endOthers
    }

    package var task = FormTask<Action>.idle
    /// This device's session first, then by last use. `nil` until the list has been loaded.
    package private(set) var sessions: [SessionInfo]?

    package init() {}

    /// Whether "Sign Out Everywhere Else" is offered.
    package var hasOthers: Bool { sessions?.contains { !$0.current } == true }

    /// - Parameter output: the loaded sessions. `nil` for the other actions, which change the list without loading it
    ///   again.
    package mutating func succeeded(_ action: Action, with output: [SessionInfo]?) {
        switch action {
        case .load:
            sessions = output?.sorted { ($0.current ? 1 : 0, $0.lastUsedAt) > ($1.current ? 1 : 0, $1.lastUsedAt) }
        case .end(let ended): sessions?.removeAll { $0.id == ended.id }
        case .endOthers: sessions?.removeAll { !$0.current }
        }
    }
}
