#if canImport(SwiftUI)
    public import Foundation
    public import SwiftUI

    /// The appearance of the library's screens: colors, fonts, spacing and background.
    ///
    /// ```swift
    /// ShopView()
    ///     .gatehouse(session)
    ///     .gatehouseStyle(GatehouseStyle(tint: .orange, titleFont: .custom("Lora", size: 34, relativeTo: .largeTitle))
    ///         .background { Image("Paper").resizable() })
    /// ```
    ///
    /// Screens of your own read it with `@Environment(\.gatehouseStyle)`. Fonts should scale with Dynamic Type.
    public struct GatehouseStyle: Sendable {
        /// Buttons, links and the cursor. `nil` for the app's accent color.
        public var tint: Color?
        /// Texts. `nil` for the system's color.
        public var text: Color?
        /// Texts of less importance, such as hints.
        public var secondaryText: Color
        /// Faults in the user's input.
        public var error: Color
        /// The headings of screens.
        public var titleFont: Font
        /// `nil` for the font of the environment.
        public var bodyFont: Font?
        /// Hints and faults.
        public var noteFont: Font
        /// Points between the groups of a screen.
        public var spacing: CGFloat
        /// Points between the fields and texts of a group.
        public var fieldSpacing: CGFloat
        /// The greatest width of forms, in points.
        public var maximumWidth: CGFloat
        /// The view behind the screens. `nil` for the system's background.
        private(set) var background: (@MainActor @Sendable () -> AnyView)?

        /// Creates a style. Its parameters are described at the properties of the same names, and their defaults are
        /// the library's appearance.
        public init(
            tint: Color? = nil, text: Color? = nil, secondaryText: Color = .secondary, error: Color = .red,
            titleFont: Font = .largeTitle.bold(), bodyFont: Font? = nil, noteFont: Font = .footnote,
            spacing: CGFloat = 20, fieldSpacing: CGFloat = 12, maximumWidth: CGFloat = 480
        ) {
            self.tint = tint
            self.text = text
            self.secondaryText = secondaryText
            self.error = error
            self.titleFont = titleFont
            self.bodyFont = bodyFont
            self.noteFont = noteFont
            self.spacing = spacing
            self.fieldSpacing = fieldSpacing
            self.maximumWidth = maximumWidth
        }

        /// Sets the view behind the screens. It fills the screen, below the bars too.
        public func background<Background: View>(
            @ViewBuilder _ background: @escaping @MainActor @Sendable () -> Background
        ) -> Self {
            var style = self
            style.background = { AnyView(background()) }
            return style
        }
    }

    extension EnvironmentValues {
        private struct StyleKey: EnvironmentKey {
            static let defaultValue = GatehouseStyle()
        }

        /// The appearance of the library's screens.
        public var gatehouseStyle: GatehouseStyle {
            get { self[StyleKey.self] }
            set { self[StyleKey.self] = newValue }
        }
    }

    extension View {
        /// Sets the appearance of the library's screens in this view: of the gate's too, if this follows
        /// `gatehouse(_:)`.
        @MainActor
        public func gatehouseStyle(_ style: GatehouseStyle) -> some View { environment(\.gatehouseStyle, style) }

        /// Gives a whole screen the style, and the direction of its language.
        @MainActor
        func styledScreen(_ texts: Texts) -> some View { modifier(StyledScreen(texts: texts)) }
    }

    private struct StyledScreen: ViewModifier {
        @Environment(\.gatehouseStyle) private var style
        let texts: Texts

        func body(content: Content) -> some View {
            backed(tinted(colored(content)))
                .transformEnvironment(\.font) { [bodyFont = style.bodyFont] font in
                    if let bodyFont { font = bodyFont }
                }
                .environment(\.layoutDirection, texts.direction)
        }

        // A property of the style that is `nil` leaves the app's own value, which a modifier with `nil` would reset.

        @ViewBuilder
        private func colored(_ content: some View) -> some View {
            if let text = style.text { content.foregroundStyle(text) } else { content }
        }

        @ViewBuilder
        private func tinted(_ content: some View) -> some View {
            if let tint = style.tint { content.tint(tint) } else { content }
        }

        @ViewBuilder
        private func backed(_ content: some View) -> some View {
            if let background = style.background {
                content
                    .scrollContentBackground(.hidden)
                    .background { background().ignoresSafeArea() }
            } else {
                content
            }
        }
    }

    /// Content in the middle of the screen. It scrolls if it is higher than the screen, as at accessibility sizes.
    struct CenteredScreen<Content: View>: View {
        @ViewBuilder let content: Content

        var body: some View {
            ViewThatFits(in: .vertical) {
                content
                ScrollView { content }
            }
            .frame(maxWidth: .infinity, maxHeight: .infinity)
        }
    }
#endif
