#if canImport(SwiftUI)
    import Combine
    import Foundation
    import SwiftUI

    #if canImport(UIKit)
        import UIKit
    #endif

    /// Presents a screen above a view and above its sheets, while the view keeps its state. On a Mac, sheets are above
    /// it.
    struct OverlayPresentation<Screen: View>: ViewModifier {
        @ObservedObject var session: AppSession
        @ViewBuilder let screen: Screen

        func body(content: Content) -> some View {
            #if canImport(UIKit)
                content.background {
                    OverlayAnchor(session: session, overlay: session.overlay, screen: AnyView(screen))
                }
            #else
                content.overlay { if session.overlay != nil { screen } }
            #endif
        }
    }

    #if canImport(UIKit)
        /// Finds the window of the gate, so that each window of an iPad has an overlay of its own.
        struct OverlayAnchor: UIViewRepresentable {
            let session: AppSession
            /// A property, so that SwiftUI updates the anchor when it changes.
            let overlay: Overlay?
            let screen: AnyView

            func makeCoordinator() -> OverlayWindow { OverlayWindow(session) }

            func makeUIView(context: Context) -> OverlayAnchorView { OverlayAnchorView(window: context.coordinator) }

            func updateUIView(_ view: OverlayAnchorView, context: Context) {
                context.coordinator.set(overlay, screen: AnyView(screen.gateEnvironment(context.environment)))
            }

            static func dismantleUIView(_ view: OverlayAnchorView, coordinator: OverlayWindow) {
                coordinator.close()
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

        final class OverlayAnchorView: UIView {
            private let overlay: OverlayWindow

            init(window: OverlayWindow) {
                overlay = window
                super.init(frame: .zero)
                isUserInteractionEnabled = false
            }

            @available(*, unavailable)
            required init?(coder: NSCoder) { fatalError("the view is not in an archive") }

            override func didMoveToWindow() {
                super.didMoveToWindow()
                // UIKit takes the view out of its window while a full-screen cover hides it. The session may be locked
                // meanwhile.
                if let window { overlay.base = window }
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
            private weak var session: AppSession?
            private let id = UUID()
            /// Finds windows that the app shows later. `nil` without an overlay.
            private var observer: NotificationObserver?

            /// Follows a session also while the gate is hidden, because SwiftUI may not update hidden views.
            init(_ session: AppSession) {
                self.session = session
                session.addOverlayListener(id) { [weak self] overlay in
                    guard let self, overlay != self.overlay else { return }
                    set(overlay, screen: screen)
                }
            }

            /// The gate is gone.
            func close() {
                session?.removeOverlayListener(id)
                set(nil, screen: AnyView(EmptyView()))
                base = nil
            }

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
                hideOtherWindows()
                if observer == nil {
                    observer = NotificationObserver(of: UIWindow.didBecomeVisibleNotification) { [weak self] in
                        self?.hideOtherWindows()
                    }
                }
                guard overlay.takesInput, !window.isKeyWindow else { return }
                formerKey = scene.keyWindow
                // The keyboard would stay above the overlay.
                base.endEditing(true)
                window.makeKey()
                UIAccessibility.post(notification: .screenChanged, argument: nil)
            }

            private func hideOtherWindows() {
                for other in window?.windowScene?.windows ?? []
                where other !== window && other.canBecomeKey && !other.accessibilityElementsHidden {
                    other.accessibilityElementsHidden = true
                    hidden.append(other)
                }
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
                observer = nil
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
