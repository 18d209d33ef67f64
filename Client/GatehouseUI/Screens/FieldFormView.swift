#if canImport(SwiftUI)
    import Combine
    import Foundation
    import GatehouseClient
    import SwiftUI

    /// The screen of a ``FieldForm``. The accessibility identifiers of its elements begin with `gatehouse.form.`.
    struct FieldFormView<Footer: View>: View {
        @StateObject private var model: TaskModel<FieldForm>
        @Environment(\.locale) private var locale
        @FocusState private var focus: FieldForm.Field?
        private let labels: FieldFormLabels
        private let done: @MainActor () -> Void
        private let footer: Footer

        /// - Parameters:
        ///   - submit: performs the form's action.
        ///   - done: called after success, for example to close the screen.
        ///   - footer: below the button.
        init(
            _ form: FieldForm, labels: FieldFormLabels,
            submit: @escaping @MainActor (FieldForm.Entry) async throws(GatehouseError) -> Void,
            done: @escaping @MainActor () -> Void = {}, @ViewBuilder footer: () -> Footer
        ) {
            self.labels = labels
            self.done = done
            self.footer = footer()
            _model = StateObject(wrappedValue: TaskModel(form, perform: submit))
        }

        var body: some View {
            let texts = Texts(locale)
            FormScreen(title: texts[labels.title], isWorking: model.form.task.isWorking, texts: texts) {
                if model.form.task.isDone, let success = labels.success {
                    Text(verbatim: texts[success])
                        .accessibilityIdentifier("gatehouse.form.success")
                        .task { Announcement.post(texts[success]) }
                } else {
                    if let message = labels.message { Text(verbatim: texts[message]) }
                    ForEach(model.form.fields, id: \.self) { field(of: $0, texts) }
                    SubmitButton(title: texts[labels.submit]) { submit(texts) }
                        .accessibilityIdentifier("gatehouse.form.submit")
                    footer
                }
            }
            .showsTask(of: model, texts)
            .task(id: model.form.task.isDone) {
                if model.form.task.isDone { done() }
            }
        }

        @ViewBuilder
        private func field(of field: FieldForm.Field, _ texts: Texts) -> some View {
            input(field, texts)
                .submitLabel(field == model.form.fields.last ? .go : .next)
                .focused($focus, equals: field)
                .onSubmit { advance(from: field, texts) }
                .accessibilityLabel(Text(verbatim: texts[field.label]))
                .accessibilityHint(Text(verbatim: fault(of: field, texts) ?? ""))
                .accessibilityIdentifier("gatehouse.form.\(field.rawValue)")
            if let fault = fault(of: field, texts) {
                FaultText(text: fault)
                    .accessibilityIdentifier("gatehouse.form.fault.\(field.rawValue)")
            }
        }

        @ViewBuilder
        private func input(_ field: FieldForm.Field, _ texts: Texts) -> some View {
            switch field {
            case .identifier: TextField(texts[field.label], text: $model.form.entry[field]).identifierField()
            case .password: SecureField(texts[field.label], text: $model.form.entry[field]).passwordField()
            case .newPassword: SecureField(texts[field.label], text: $model.form.entry[field]).newPasswordField()
            }
        }

        private func advance(from field: FieldForm.Field, _ texts: Texts) {
            let following = model.form.fields.drop { $0 != field }.dropFirst().first
            if let following { focus = following } else { submit(texts) }
        }

        /// If input is invalid, moves the focus to the first invalid field and announces all errors.
        private func submit(_ texts: Texts) {
            model.begin(model.form.submit())
            let invalid = model.form.fields.filter { model.form.fault(of: $0) != nil }
            guard let first = invalid.first else { return }
            focus = first
            Announcement.post(invalid.compactMap { fault(of: $0, texts) }.joined(separator: " "))
        }

        private func fault(of field: FieldForm.Field, _ texts: Texts) -> String? {
            switch (model.form.fault(of: field), field) {
            case (nil, _): nil
            case (.missing, .identifier): texts[.identifierMissing]
            case (.missing, _): texts[.passwordMissing]
            case (.tooShort, _):
                InterfaceText.passwordTooShort.text(in: texts.language, number: model.form.minimumPasswordLength)
            }
        }
    }

    extension FieldFormView where Footer == EmptyView {
        init(
            _ form: FieldForm, labels: FieldFormLabels,
            submit: @escaping @MainActor (FieldForm.Entry) async throws(GatehouseError) -> Void,
            done: @escaping @MainActor () -> Void = {}
        ) {
            self.init(form, labels: labels, submit: submit, done: done) { EmptyView() }
        }
    }

    /// The texts of a form's screen.
    struct FieldFormLabels {
        var title: InterfaceText
        var submit: InterfaceText
        /// Above the fields.
        var message: InterfaceText?
        /// In place of the fields after success. If it is `nil`, the form stays.
        var success: InterfaceText?
    }

    extension FieldForm.Field {
        var label: InterfaceText {
            switch self {
            case .identifier: .identifier
            case .password: .password
            case .newPassword: .newPassword
            }
        }
    }
#endif
