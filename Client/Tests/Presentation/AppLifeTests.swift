import Testing

@testable import GatehouseClient

@Suite("An app's life cycle")
struct AppLifeTests {
    private static let delay = Duration.seconds(300)
    private var life = AppLife(lockDelay: delay)

    /// The app leaves and comes back after `away`.
    private func returned(
        _ life: AppLife, after away: Duration, isProtected: Bool = true
    ) -> (AppLife, AppLife.Action?) {
        var life = life
        _ = life.handle(.resignedActive, at: .seconds(1), isProtected: isProtected)
        _ = life.handle(.enteredBackground, at: .seconds(1), isProtected: isProtected)
        let action = life.handle(.becameActive, at: .seconds(1) + away, isProtected: isProtected)
        return (life, action)
    }

    @Test("The session is read again when the app becomes active, and when the device is unlocked")
    func reads() {
        var life = life
        #expect(life.handle(.becameActive, at: .zero, isProtected: false) == .refresh)
        #expect(life.handle(.protectedDataBecameAvailable, at: .zero, isProtected: false) == .restore)
        #expect(life.handle(.protectedDataBecameAvailable, at: .zero, isProtected: true) == .restore)
    }

    @Test("A protected session is locked after the delay in the background")
    func locks() {
        #expect(returned(life, after: Self.delay - .milliseconds(1)).1 == .refresh)
        #expect(returned(life, after: Self.delay).1 == .lock)
        #expect(returned(life, after: Self.delay, isProtected: false).1 == .refresh)
    }

    @Test("With a delay of zero it is locked when it enters the background")
    func locksAtOnce() {
        var life = AppLife(lockDelay: .zero)
        #expect(life.handle(.resignedActive, at: .zero, isProtected: true) == nil)
        #expect(life.handle(.enteredBackground, at: .zero, isProtected: true) == .lock)
        life.sessionClosed()
        #expect(life.handle(.becameActive, at: .zero, isProtected: false) == .refresh)
        #expect(!life.hidesProtectedContent)
    }

    @Test("An app that was launched in the background is there until it becomes active")
    func launchedInBackground() {
        var life = life
        life.launchedInBackground()
        #expect(life.isInBackground && life.hidesProtectedContent)
        #expect(life.handle(.becameActive, at: .seconds(3000), isProtected: true) == .refresh)
        #expect(!life.isInBackground && !life.hidesProtectedContent)
    }

    @Test("A dialog of the system does not count as the background")
    func dialog() {
        var life = life
        #expect(life.handle(.resignedActive, at: .zero, isProtected: true) == nil)
        #expect(!life.isInBackground && life.hidesProtectedContent)
        #expect(life.handle(.becameActive, at: Self.delay, isProtected: true) == .refresh)
        #expect(!life.hidesProtectedContent)
        // The time in the background ends with the return.
        let (back, _) = returned(life, after: .zero)
        life = back
        _ = life.handle(.resignedActive, at: .seconds(2), isProtected: true)
        #expect(life.handle(.becameActive, at: .seconds(3000), isProtected: true) == .refresh)
    }

    @Test("The content stays hidden until the session is locked")
    func hides() {
        var (life, _) = returned(life, after: Self.delay)
        #expect(!life.isInBackground && life.hidesProtectedContent)
        life.sessionClosed()
        #expect(!life.hidesProtectedContent)
    }
}
