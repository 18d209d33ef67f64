import GatehouseClient
import GatehouseUI
import SwiftUI

@main
struct Consumer: App {
    @StateObject private var session = AppSession(
        GatehouseClient.live(baseURL: URL(string: "https://api.example.com")!))

    var body: some Scene {
        WindowGroup { Text(verbatim: "Signed in").gatehouse(session) }
    }
}
