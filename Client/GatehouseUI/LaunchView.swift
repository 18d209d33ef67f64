#if canImport(SwiftUI)
    import Combine
    import Foundation
    import GatehouseClient
    public import SwiftUI

    /// The gate's screen while the session is read, and if reading failed. The accessibility identifiers of its
    /// elements begin with `gatehouse.launch.`.
    public struct LaunchView: View {
        @ObservedObject private var session: AppSession
        @Environment(\.locale) private var locale
        @Environment(\.gatehouseStyle) private var style

        /// - Parameter session: the app's session.
        public init(session: AppSession) { self.session = session }

        public var body: some View {
            let texts = Texts(locale)
            CenteredScreen {
                VStack(spacing: style.spacing) {
                    if let error = session.launchError {
                        Text(verbatim: texts[.launchFailed])
                            .accessibilityAddTraits(.isHeader)
                        Text(verbatim: error.message(in: texts.language))
                            .multilineTextAlignment(.center)
                            .accessibilityIdentifier("gatehouse.launch.error")
                        Button(texts[.tryAgain]) { Task { await session.start() } }
                            .accessibilityIdentifier("gatehouse.launch.tryAgain")
                    } else {
                        ProgressView()
                            .accessibilityLabel(Text(verbatim: texts[.launching]))
                            .accessibilityIdentifier("gatehouse.launch.progress")
                    }
                }
                .padding()
            }
            .styledScreen(texts)
        }
    }
#endif
