#if canImport(SwiftUI)
    import Foundation
    import SwiftUI

    #if canImport(UIKit)
        import UIKit
    #endif

    /// Presents a screen above a view and above its sheets, while the view keeps its state. On a Mac, sheets are above it.
    struct OverlayPresentation<Screen: View>: ViewModifier {
        let overlay: Overlay?
        @ViewBuilder let screen: Screen

        func body(content: Content) -> some View {
            #if canImport(UIKit)
                content.background { OverlayAnchor(overlay: overlay, screen: AnyView(screen)) }
            #else
                content.overlay { if overlay != nil { screen } }
            #endif
        }
    }

    #if canImport(UIKit)
        /// Finds the window of the gate, so that each window of an iPad has an overlay of its own.
        private struct OverlayAnchor: UIViewRepresentable {
            let overlay: Overlay?
            let screen: AnyView

            func makeCoordinator() -> OverlayWindow { OverlayWindow() }

            func makeUIView(context: Context) -> OverlayAnchorView { OverlayAnchorView(window: context.coordinator) }

            func updateUIView(_ view: OverlayAnchorView, context: Context) {
                context.coordinator.set(overlay, screen: AnyView(screen.gateEnvironment(context.environment)))
            }

            static func dismantleUIView(_ view: OverlayAnchorView, coordinator: OverlayWindow) {
                coordinator.set(nil, screen: AnyView(EmptyView()))
            }
        }

        extension View {
            /// Sets what the gate's screens read from its environment. A window of its own does not inherit it.
            @MainActor
            func gateEnvironment(_ values: EnvironmentValues) -> some View {
                environment(\.locale, values.locale)
                    .gatehouseStyle(values.gatehouseStyle)
                    .codeLink(values.codeLink)
            }
        }

        private final class OverlayAnchorView: UIView {
            private let overlay: OverlayWindow

            init(window: OverlayWindow) {
                overlay = window
                super.init(frame: .zero)
                isUserInteractionEnabled = false
            }

            @available(*, unavailable)
            required init?(coder: NSCoder) { fatalError("there is no archive") }

            override func didMoveToWindow() {
                super.didMoveToWindow()
                overlay.base = window
            }
        }

        /// A window above another one, whose elements VoiceOver does not read meanwhile.
        @MainActor
        final class OverlayWindow {
            /// The window to hide. Setting it shows an overlay that waits for it.
            weak var base: UIWindow? {
                didSet { if base !== oldValue { present() } }
            }
            private(set) var window: UIWindow?
            private var overlay: Overlay?
            private var screen = AnyView(EmptyView())
            /// The windows whose elements are hidden.
            private var hidden: [UIWindow] = []
            private weak var formerKey: UIWindow?

            /// - Parameter overlay: `nil` removes the window.
            func set(_ overlay: Overlay?, screen: AnyView) {
                let isNew = overlay != self.overlay
                (self.overlay, self.screen) = (overlay, screen)
                if isNew || window == nil {
                    present()
                } else {
                    (window?.rootViewController as? UIHostingController<AnyView>)?.rootView = screen
                }
            }

            private func present() {
                guard let overlay, let base, let scene = base.windowScene else { return remove() }
                if window?.windowScene !== scene { remove() }
                let window = self.window ?? makeWindow(above: base, in: scene)
                self.window = window
                (window.rootViewController as? UIHostingController<AnyView>)?.rootView = screen
                window.isHidden = false
                for other in scene.windows
                where other !== window && other.canBecomeKey && !other.accessibilityElementsHidden {
                    other.accessibilityElementsHidden = true
                    hidden.append(other)
                }
                guard overlay.takesInput, !window.isKeyWindow else { return }
                formerKey = scene.keyWindow
                // The keyboard would stay above the overlay.
                base.endEditing(true)
                window.makeKey()
                UIAccessibility.post(notification: .screenChanged, argument: nil)
            }

            private func makeWindow(above base: UIWindow, in scene: UIWindowScene) -> UIWindow {
                let window = UIWindow(windowScene: scene)
                window.windowLevel = UIWindow.Level(rawValue: UIWindow.Level.alert.rawValue + 1)
                window.overrideUserInterfaceStyle = base.overrideUserInterfaceStyle
                window.tintColor = base.tintColor
                window.accessibilityViewIsModal = true
                window.rootViewController = UIHostingController(rootView: screen)
                return window
            }

            private func remove() {
                for other in hidden { other.accessibilityElementsHidden = false }
                hidden = []
                guard let window else { return }
                self.window = nil
                window.isHidden = true
                window.rootViewController = nil
                guard let formerKey else { return }
                formerKey.makeKey()
                self.formerKey = nil
                UIAccessibility.post(notification: .screenChanged, argument: nil)
            }
        }
    #endif
#endif
