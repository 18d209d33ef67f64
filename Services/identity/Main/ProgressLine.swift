import Foundation

/// How far a command has come: a line on standard error that is written over and over, if a person is looking.
final class ProgressLine {
    private let unit: String
    private let total: Int?
    private let isSeen = isatty(STDERR_FILENO) == 1
    private let start = ContinuousClock.now
    private var shownAt = ContinuousClock.now

    /// - Parameter total: `nil` where nobody knows how much there is.
    init(unit: String, total: Int? = nil) {
        self.unit = unit
        self.total = total
    }

    /// - Parameters:
    ///   - count: how many are done.
    ///   - part: of `total`, where that is counted in something else.
    func show(_ count: Int, part: Int? = nil) {
        let now = ContinuousClock.now
        guard isSeen, now - shownAt > .milliseconds(200) else { return }
        shownAt = now
        let rate = Int(Double(count) / max((now - start) / .seconds(1), 0.001))
        var line = "\(count) \(unit), \(rate) a second"
        if let total, total > 0 {
            let done = min(part ?? count, total)
            let width = 30 * done / total
            let bar = String(repeating: "#", count: width) + String(repeating: ".", count: 30 - width)
            line = "[\(bar)] \(100 * done / total) %  " + line
        }
        FileHandle.standardError.write(Data("\r\u{1B}[K\(line)".utf8))
    }

    func end() {
        if isSeen { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
    }
}
