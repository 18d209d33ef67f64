import ServiceKitPostgres
import Testing

@Suite struct FeedCursorTests {
    @Test(arguments: [
        FeedCursor.oldest, .nothing, .after(number: 1, tag: 0), .after(number: .max, tag: .min),
        .after(number: 7, tag: -1),
    ])
    func cursorsRoundTrip(cursor: FeedCursor) {
        #expect(FeedCursor(text: cursor.text) == cursor)
    }

    @Test(arguments: [
        "", "-", "1", "1-", "-1", "1-x", "-1-a", "1-A", "01-a", "1-0a", "+1-a", "1--1", "1-a-b", " 1-a", "Oldest",
        "9223372036854775808-a", "1-10000000000000000",
    ])
    func otherTextsAreNoCursors(text: String) {
        #expect(FeedCursor(text: text) == nil)
    }

    @Test func aReaderContinuesOnlyAfterTheEntryThatItHasRead() {
        let cursor = FeedCursor.after(number: 5, tag: 9)
        #expect(cursor.continues(where: 9, first: 1))
        #expect(!cursor.continues(where: 8, first: 1), "another entry has the number")
        #expect(!cursor.continues(where: nil, first: 6), "the entry was purged, or lost")
        #expect(FeedCursor.oldest.continues(where: nil, first: 6))
    }

    @Test("A reader has the cursor of an empty feed: it continues unless entries were purged since")
    func cursorOfAnEmptyFeed() {
        #expect(FeedCursor.nothing.continues(where: nil, first: nil))
        #expect(FeedCursor.nothing.continues(where: nil, first: 1))
        #expect(!FeedCursor.nothing.continues(where: nil, first: 2))
        #expect(!FeedCursor.after(number: 0, tag: 1).continues(where: nil, first: 1), "no feed gave this cursor")
    }
}

@Suite struct SequencingScheduleTests {
    private let start = ContinuousClock.now

    @Test func cheapLooksAreAtEverything() {
        var schedule = SequencingSchedule()
        #expect(schedule.reach(at: start) == nil)
        schedule.looked(within: nil, cost: .microseconds(100), isDrained: true, at: start)
        #expect(schedule.reach(at: start + .milliseconds(300)) == nil)
    }

    @Test func dearLooksAreRare() {
        var schedule = SequencingSchedule()
        schedule.looked(within: nil, cost: .milliseconds(25), isDrained: true, at: start)
        #expect(schedule.reach(at: start + .seconds(49)) == SequencingSchedule.recent)
        schedule.looked(within: .seconds(5), cost: .zero, isDrained: true, at: start + .seconds(49))
        #expect(schedule.reach(at: start + .milliseconds(49_999)) == SequencingSchedule.recent)
        #expect(schedule.reach(at: start + .seconds(50)) == nil)
    }

    @Test func aBacklogIsSequencedWithoutAPause() {
        var schedule = SequencingSchedule()
        schedule.looked(within: nil, cost: .seconds(1), isDrained: false, at: start)
        #expect(schedule.reach(at: start) == nil)
    }

    /// What was recent before an outage is not recent after it.
    @Test("A look fails: the next one is at everything, unless that failed")
    func reachAfterAFailure() {
        var schedule = SequencingSchedule()
        schedule.looked(within: nil, cost: .seconds(1), isDrained: true, at: start)
        schedule.failed(within: SequencingSchedule.recent, at: start + .seconds(1))
        #expect(schedule.reach(at: start + .seconds(1)) == nil)
        schedule.failed(within: nil, at: start + .seconds(2))
        #expect(schedule.reach(at: start + .seconds(2)) == SequencingSchedule.recent)
        #expect(schedule.reach(at: start + .seconds(32)) == nil)
    }
}
