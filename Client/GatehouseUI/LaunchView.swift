#if canImport(SwiftUI)
    import Foundation
    import GatehouseClient
    import SwiftUI

    /// While what is stored is read, and where it could not be.
    struct LaunchView: View {
        @ObservedObject var session: AppSession
        @Environment(\.locale) private var locale

        var body: some View {
            let texts = Texts(locale)
            VStack(spacing: 20) {
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
            .frame(maxWidth: .infinity, maxHeight: .infinity)
            .environment(\.layoutDirection, texts.direction)
        }
    }
#endif
