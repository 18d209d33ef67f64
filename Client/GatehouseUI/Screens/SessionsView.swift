#if canImport(SwiftUI)
    import Combine
    import Foundation
    public import GatehouseClient
    public import SwiftUI

    /// The user's sessions on all devices. A swipe ends a session. Place it in a `NavigationStack`.
    public struct SessionsView: View {
        @StateObject private var model: TaskModel<SessionsForm>
        @Environment(\.locale) private var locale

        public init(client: GatehouseClient) { _model = StateObject(wrappedValue: TaskModel(sessionsOf: client)) }

        public var body: some View {
            let texts = Texts(locale)
            List {
                if let sessions = model.form.sessions {
                    ForEach(sessions, id: \.id) { session in
                        row(session, texts)
                            .swipeActions { end(session, texts) }
                            // For a mouse.
                            .contextMenu { end(session, texts) }
                    }
                    if model.form.hasOthers {
                        Section {
                            Button(texts[.signOutOthers], role: .destructive) { model.begin(.endOthers) }
                                .accessibilityIdentifier("gatehouse.sessions.endOthers")
                        }
                    }
                } else if model.form.task.isWorking {
                    ProgressView()
                        .accessibilityLabel(Text(verbatim: texts[.working]))
                }
            }
            .navigationTitle(texts[.sessionsTitle])
            .showsTask(of: model, texts)
            .task { await model.run(.load) }
            .refreshable { await model.run(.load) }
            .styledScreen(texts)
        }

        private func end(_ session: SessionInfo, _ texts: Texts) -> some View {
            Button(texts[.signOut], role: .destructive) { model.begin(.end(session)) }
        }

        private func row(_ session: SessionInfo, _ texts: Texts) -> some View {
            VStack(alignment: .leading, spacing: 4) {
                Text(verbatim: session.device?.title ?? texts[.unknownDevice])
                NoteText(text: session.current ? texts[.thisDevice] : lastUse(of: session, texts))
            }
            .accessibilityElement(children: .combine)
            .accessibilityIdentifier("gatehouse.session")
        }

        private func lastUse(of session: SessionInfo, _ texts: Texts) -> String {
            let style = Date.FormatStyle(
                date: .abbreviated, time: .shortened, locale: Locale(identifier: texts.language))
            return "\(texts[.lastUsed]) \(session.lastUsedAt.formatted(style))"
        }
    }

    extension TaskModel where Form == SessionsForm {
        convenience init(sessionsOf client: GatehouseClient) {
            self.init(SessionsForm()) { action throws(GatehouseError) in
                switch action {
                case .load: return try await client.sessions()
                case .end(let session): try await client.endSession(session)
                case .endOthers: try await client.signOutEverywhere(exceptThisDevice: true)
                }
                return nil
            }
        }
    }
#endif
