import Synchronization

// os, "Logger"
public struct Logger: Sendable {
    private let subsystem: String
    private let category: String

    // os, "init(subsystem:category:)"
    public init(subsystem: String, category: String) {
        self.subsystem = subsystem
        self.category = category
    }

    // os, "log(level:_:)"
    public func log(level: OSLogType, _ message: OSLogMessage) {
        SimulatedLog.entries.withLock {
            $0.append(.init(subsystem: subsystem, category: category, level: level, text: message.interpolation.text))
        }
    }
}

// os, "OSLogType"
public struct OSLogType: Sendable, Equatable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let `default` = Self(rawValue: 0)
    public static let info = Self(rawValue: 1)
    public static let debug = Self(rawValue: 2)
    public static let error = Self(rawValue: 16)
    public static let fault = Self(rawValue: 17)
}

// os, "OSLogPrivacy"
public struct OSLogPrivacy: Sendable {
    let isPublic: Bool

    public static var `public`: OSLogPrivacy { OSLogPrivacy(isPublic: true) }
    public static var `private`: OSLogPrivacy { OSLogPrivacy(isPublic: false) }
    public static var auto: OSLogPrivacy { OSLogPrivacy(isPublic: false) }
}

// os, "OSLogMessage"
public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
    let interpolation: OSLogInterpolation

    public init(stringLiteral value: String) {
        var interpolation = OSLogInterpolation(literalCapacity: 0, interpolationCount: 0)
        interpolation.appendLiteral(value)
        self.interpolation = interpolation
    }

    public init(stringInterpolation: OSLogInterpolation) { interpolation = stringInterpolation }
}

// os, "OSLogInterpolation"
public struct OSLogInterpolation: StringInterpolationProtocol, Sendable {
    var text = ""

    public init(literalCapacity: Int, interpolationCount: Int) {}

    public mutating func appendLiteral(_ literal: String) { text += literal }

    // os, "appendInterpolation(_:align:privacy:)": values are private by default.
    public mutating func appendInterpolation(
        _ argumentString: @autoclosure @escaping () -> String, privacy: OSLogPrivacy = .auto
    ) {
        text += privacy.isPublic ? argumentString() : "<private>"
    }
}

/// For tests: the logged messages, as a reader of the system log sees them.
public enum SimulatedLog {
    public struct Entry: Sendable {
        public let subsystem: String
        public let category: String
        public let level: OSLogType
        public let text: String
    }

    static let entries = Mutex<[Entry]>([])

    public static func entries(of subsystem: String) -> [Entry] {
        entries.withLock { $0.filter { $0.subsystem == subsystem } }
    }
}
