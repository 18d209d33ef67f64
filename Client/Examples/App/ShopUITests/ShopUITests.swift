import XCTest

/// Tests the app against its in-memory server.
@MainActor
final class ShopUITests: XCTestCase {
    private let timeout: TimeInterval = 30

    /// - Parameter keychain: the session's name in the simulator's Keychain; `nil` keeps the session in memory.
    private func launch(keychain: String? = nil) -> XCUIApplication {
        continueAfterFailure = false
        let app = XCUIApplication()
        app.launchArguments = ["-stub", "-AppleLanguages", "(en)", "-AppleLocale", "en_US"]
        app.launchEnvironment["STUB_KEYCHAIN"] = keychain
        app.launch()
        return app
    }

    private func signIn(_ app: XCUIApplication, password: String) {
        let identifier = app.textFields["gatehouse.login.identifier"]
        XCTAssertTrue(identifier.waitForExistence(timeout: timeout))
        identifier.tap()
        identifier.typeText("ada@example.com")
        let field = app.secureTextFields["gatehouse.login.password"]
        field.tap()
        field.typeText(password)
        app.buttons["gatehouse.login.submit"].tap()
    }

    /// A button at the end of the account screen. The list creates its rows when they come into view.
    private func lowerButton(_ app: XCUIApplication, _ identifier: String) -> XCUIElement {
        XCTAssertTrue(app.staticTexts["gatehouse.account.name"].waitForExistence(timeout: timeout))
        let button = app.buttons[identifier]
        for _ in 0..<5 where !button.exists || !button.isHittable { app.swipeUp() }
        XCTAssertTrue(button.waitForExistence(timeout: timeout))
        return button
    }

    func testWrongPassword() {
        let app = launch()
        signIn(app, password: "wrong horse")
        let alert = app.alerts.firstMatch
        XCTAssertTrue(alert.waitForExistence(timeout: timeout))
        // Retrying with the same password would fail again.
        XCTAssertFalse(alert.buttons["Try Again"].exists)
        alert.buttons.firstMatch.tap()
        XCTAssertTrue(app.buttons["gatehouse.login.submit"].isEnabled)
        XCTAssertFalse(app.staticTexts["shop.order"].exists)
    }

    func testPasswordThatIsTooShortIsNotSent() {
        let app = launch()
        signIn(app, password: "short")
        XCTAssertTrue(app.staticTexts["gatehouse.login.fault.passwordTooShort"].waitForExistence(timeout: timeout))
        XCTAssertFalse(app.alerts.firstMatch.exists)
    }

    func testSuccessLeadsToTheNextScreen() {
        let app = launch()
        signIn(app, password: "correct horse")
        XCTAssertTrue(app.staticTexts["shop.order"].firstMatch.waitForExistence(timeout: timeout))
        app.tabBars.buttons["Account"].tap()
        let name = app.staticTexts["gatehouse.account.name"]
        XCTAssertTrue(name.waitForExistence(timeout: timeout))
        XCTAssertEqual(name.label, "Ada")
        let signOut = lowerButton(app, "gatehouse.account.signOut")
        signOut.tap()
        XCTAssertTrue(app.textFields["gatehouse.login.identifier"].waitForExistence(timeout: timeout))
    }

    func testTheSessionInTheKeychainOutlivesTheProcess() {
        let name = UUID().uuidString
        var app = launch(keychain: name)
        signIn(app, password: "correct horse")
        XCTAssertTrue(app.staticTexts["shop.order"].firstMatch.waitForExistence(timeout: timeout))
        app.terminate()
        app = launch(keychain: name)
        XCTAssertTrue(app.staticTexts["shop.order"].firstMatch.waitForExistence(timeout: timeout))
        app.tabBars.buttons["Account"].tap()
        let signOut = lowerButton(app, "gatehouse.account.signOut")
        signOut.tap()
        XCTAssertTrue(app.textFields["gatehouse.login.identifier"].waitForExistence(timeout: timeout))
        app.terminate()
        app = launch(keychain: name)
        XCTAssertTrue(app.textFields["gatehouse.login.identifier"].waitForExistence(timeout: timeout))
    }

    func testDeletingTheAccountEndsTheSession() {
        let app = launch()
        signIn(app, password: "correct horse")
        XCTAssertTrue(app.staticTexts["shop.order"].firstMatch.waitForExistence(timeout: timeout))
        app.tabBars.buttons["Account"].tap()
        let delete = lowerButton(app, "gatehouse.account.delete")
        delete.tap()
        let forEver = app.buttons["Delete Permanently"]
        XCTAssertTrue(forEver.waitForExistence(timeout: timeout))
        forEver.tap()
        XCTAssertTrue(app.textFields["gatehouse.login.identifier"].waitForExistence(timeout: timeout))
    }
}
