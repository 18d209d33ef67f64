import Foundation

/// Prints measurements below one another: rate, CPU time of one operation in all, and what each process took of it.
enum Table {
    static func title(_ title: String) { write("\n\(title)") }

    static func header(_ title: String) {
        self.title(title)
        write(row("", "per second", "CPU µs/op", "of which"))
    }

    static func line(_ measurement: Measurement) {
        let parts = measurement.cpu.map { "\($0.process) \(number(measurement.microseconds($0.time)))" }
        write(
            row(
                measurement.name, number(measurement.perSecond), number(measurement.microsecondsInAll),
                parts.count > 1 ? parts.joined(separator: ", ") : ""))
    }

    /// Of a table with columns of its own.
    static func columns(_ name: String, _ cells: [String]) {
        write(
            name.padding(toLength: max(30, name.count), withPad: " ", startingAt: 0)
                + cells.map { right($0, 17) }.joined())
    }

    /// A sentence below the lines.
    static func note(_ sentence: String) { write(sentence) }

    /// Unlike `print`, at once also into a file or a pipe.
    private static func write(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    private static func row(_ name: String, _ rate: String, _ cpu: String, _ rest: String) -> String {
        name.padding(toLength: max(44, name.count), withPad: " ", startingAt: 0) + right(rate, 12) + right(cpu, 12)
            + "   " + rest
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    static func number(_ value: Double) -> String {
        String(format: value < 100 ? "%.1f" : "%.0f", value)
    }

    static func ratio(_ value: Double) -> String { String(format: "%.2f", value) }
}
