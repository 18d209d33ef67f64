#if canImport(SwiftUI)
    import Foundation

    #if canImport(UIKit)
        import UIKit
    #endif

    /// What VoiceOver says besides what is under the user's finger. On a Mac nothing is.
    enum Announcement {
        @MainActor
        static func post(_ text: String) {
            #if canImport(UIKit)
                // After what VoiceOver is saying: a field that gets the focus is read at the same moment.
                UIAccessibility.post(
                    notification: .announcement,
                    argument: NSAttributedString(
                        string: text, attributes: [.accessibilitySpeechQueueAnnouncement: true]))
            #endif
        }
    }
#endif
