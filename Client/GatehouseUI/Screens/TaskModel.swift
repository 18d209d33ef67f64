#if canImport(SwiftUI)
    import Combine
    import Foundation
    import GatehouseClient
    import SwiftUI

    /// Performs the actions of a form and passes it their results.
    @MainActor
    final class TaskModel<Form: TaskForm>: ObservableObject {
        @Published var form: Form
        /// The number of failures that were shown.
        private(set) var failures = 0
        private let perform: @MainActor (Form.Action) async throws(GatehouseError) -> Form.Output

        init(_ form: Form, perform: @escaping @MainActor (Form.Action) async throws(GatehouseError) -> Form.Output) {
            self.form = form
            self.perform = perform
        }

        /// A binding of the alert. Its setter does nothing: the alert's buttons change the form.
        var showsError: Bool {
            get { form.task.error != nil }
            set {}
        }

        /// Begins an action, unless another one runs. `nil` does nothing: the input is invalid.
        func begin(_ action: Form.Action?) {
            guard let action, form.task.begin(action) else { return }
            // The task outlives the screen, so the action completes even if the user leaves the screen.
            Task { await finish(action) }
        }

        /// Performs an action, unless another one runs, and returns when it has ended.
        func run(_ action: Form.Action) async {
            if form.task.begin(action) { await finish(action) }
        }

        private func finish(_ action: Form.Action) async {
            do throws(GatehouseError) {
                let output = try await perform(action)
                form.succeeded(action, with: output)
                form.task.end()
            } catch {
                if error.kind != .cancelled { failures += 1 }
                form.task.end(error)
            }
        }
    }

    extension View {
        /// Disables this view while an action runs, and shows the error of a failed action.
        @MainActor
        func showsTask<Form: TaskForm>(of model: TaskModel<Form>, _ texts: Texts) -> some View {
            disabled(model.form.task.isWorking)
                .showsFailure(of: model, texts)
        }

        /// Shows the error of a failed action.
        ///
        /// - Parameter identifiers: the prefix of the accessibility identifiers of the message's buttons.
        @MainActor
        func showsFailure<Form: TaskForm>(
            of model: TaskModel<Form>, _ texts: Texts, title: InterfaceText = .taskFailed,
            identifiers: String = "gatehouse.task"
        ) -> some View {
            background {
                TaskAlert(model: model, texts: texts, title: title, identifiers: identifiers)
                    .id(model.failures)
            }
        }
    }

    /// Shows a failure. SwiftUI presents an alert only if its view is new, or after it has seen that no alert is
    /// presented. "Try Again" may fail before that, so a second failure needs another view.
    private struct TaskAlert<Form: TaskForm>: View {
        @ObservedObject var model: TaskModel<Form>
        let texts: Texts
        let title: InterfaceText
        let identifiers: String

        var body: some View {
            Color.clear
                .alert(texts[title], isPresented: $model.showsError) {
                    if let action = model.form.task.retryableAction {
                        Button(texts[.tryAgain]) { model.begin(action) }
                            .accessibilityIdentifier("\(identifiers).tryAgain")
                    }
                    Button(texts[.ok], role: .cancel) { model.form.task.dismiss() }
                        .accessibilityIdentifier("\(identifiers).dismiss")
                } message: {
                    Text(verbatim: model.form.task.error?.message(in: texts.language) ?? "")
                }
        }
    }
#endif
