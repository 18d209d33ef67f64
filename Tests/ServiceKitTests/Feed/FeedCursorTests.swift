import ServiceKitPostgres
import Testing

@Suite struct FeedCursorTests {
    @Test(arguments: ["5:9:", "5:9:5,7", "1:1:"])
    func cursorsRoundTrip(snapshot: String) {
        var cursor = FeedCursor(history: "7-1", seen: snapshot)
        #expect(FeedCursor(text: cursor.text) == cursor)
        cursor.scan = .init(snapshot: "9:9:", transaction: .max, id: 3)
        #expect(FeedCursor(text: cursor.text) == cursor)
        cursor.seen = nil
        #expect(FeedCursor(text: cursor.text) == cursor)
    }

    @Test(arguments: [
        "9:5:", "5:9:4", "5:9:9", "5:9:7,6", "5:9:7,7", "5:9", "a:b:c", "0:9:", "5:9:,", "-1:9:", "5:9:7,",
    ])
    func whatPostgreSQLWouldNotReadIsRefused(snapshot: String) {
        #expect(FeedCursor(text: FeedCursor(history: "7-1", seen: snapshot).text) == nil)
    }
}
