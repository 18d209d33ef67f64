import Foundation
import GatehouseClient
import UserNotifications

// The code of the article "Without a network".

nonisolated final class NotificationService: UNNotificationServiceExtension {
    override func didReceive(
        _ request: UNNotificationRequest, withContentHandler deliver: @escaping (UNNotificationContent) -> Void
    ) {
        let order = request.content.userInfo["order"] as? Int
        nonisolated(unsafe) let deliver = deliver  // called once, from the task
        Task {
            let content = await Self.content(of: order)
            await client.session.settle()
            deliver(content)
        }
    }

    private static func content(of order: Int?) async -> UNNotificationContent {
        let content = UNMutableNotificationContent()
        if let order, let order: Order = try? await client.get("/v1/orders/\(order)") {
            content.body = "Order \(order.id)"
        }
        return content
    }
}
