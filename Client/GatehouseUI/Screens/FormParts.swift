#if canImport(SwiftUI)
    import Foundation
    import GatehouseClient
    import SwiftUI

    #if canImport(UIKit)
        import UIKit
    #else
        import AppKit
    #endif

    /// A heading, the content of a form and its progress indicator.
    struct FormScreen<Content: View>: View {
        let title: String
        let isWorking: Bool
        let texts: Texts
        @ViewBuilder let content: Content
        @Environment(\.gatehouseStyle) private var style

        var body: some View {
            ScrollView {
                VStack(alignment: .leading, spacing: style.fieldSpacing) {
                    Text(verbatim: title)
                        .font(style.titleFont)
                        .accessibilityAddTraits(.isHeader)
                    content
                    if isWorking {
                        ProgressView()
                            .accessibilityLabel(Text(verbatim: texts[.working]))
                            .accessibilityIdentifier("gatehouse.task.progress")
                    }
                }
                .textFieldStyle(.roundedBorder)
                .padding()
                .frame(maxWidth: style.maximumWidth)
                .frame(maxWidth: .infinity)
            }
            .styledScreen(texts)
        }
    }

    /// The button that submits a form.
    struct SubmitButton: View {
        let title: String
        let action: @MainActor () -> Void

        var body: some View {
            Button {
                action()
            } label: {
                Text(verbatim: title)
                    .frame(maxWidth: .infinity)
            }
            .buttonStyle(.borderedProminent)
            .controlSize(.large)
        }
    }

    /// An error below a field.
    struct FaultText: View {
        let text: String
        @Environment(\.gatehouseStyle) private var style

        var body: some View {
            Text(verbatim: text)
                .font(style.noteFont)
                .foregroundStyle(style.error)
        }
    }

    /// A hint of less importance.
    struct NoteText: View {
        let text: String
        @Environment(\.gatehouseStyle) private var style

        var body: some View {
            Text(verbatim: text)
                .font(style.noteFont)
                .foregroundStyle(style.secondaryText)
        }
    }

    /// The content of a sheet, below a button that closes the sheet.
    struct SheetScreen<Content: View>: View {
        let texts: Texts
        @ViewBuilder let content: Content
        @Environment(\.dismiss) private var dismiss

        var body: some View {
            VStack(spacing: 0) {
                Button(texts[.cancel]) { dismiss() }
                    .padding()
                    .frame(maxWidth: .infinity, alignment: .leading)
                    .accessibilityIdentifier("gatehouse.sheet.cancel")
                content
            }
            .styledScreen(texts)
        }
    }

    // The kinds of fields. A Mac has only one keyboard.
    extension View {
        /// - Parameter kind: `nil` for a field that takes e-mail addresses and phone numbers.
        @MainActor
        func identifierField(_ kind: IdentifierKind? = nil) -> some View {
            #if canImport(UIKit)
                keyboardType(kind == .phone ? .phonePad : .emailAddress).textInputAutocapitalization(.never)
                    .textContentType(kind == .phone ? .telephoneNumber : .username).autocorrectionDisabled()
            #else
                textContentType(.username).autocorrectionDisabled()
            #endif
        }

        @MainActor
        func passwordField() -> some View { textContentType(.password) }

        /// Lets the system suggest a strong password and save it. macOS 13 has no such content type.
        @MainActor
        func newPasswordField() -> some View {
            #if canImport(UIKit)
                textContentType(.newPassword)
            #else
                textContentType(.password)
            #endif
        }

        /// Offers the codes of received messages.
        @MainActor
        func codeField() -> some View {
            #if canImport(UIKit)
                keyboardType(.numberPad).textContentType(.oneTimeCode)
            #else
                textContentType(.oneTimeCode)
            #endif
        }
    }
#endif
