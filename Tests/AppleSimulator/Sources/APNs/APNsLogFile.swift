import Foundation
import GatehouseServiceContracts
import Synchronization

/// The file in which the pushes and channels of APNs survive the end of the simulator, by SIGKILL too.
///
/// A record is a line of JSON, appended with one `write(2)` before the client receives its answer. Nothing is
/// synchronized to the disk: a crash of the machine may lose records.
///
/// The file grows without bound, and a start reads all of it. A test therefore begins with a new file. Only one
/// simulator may use a file at a time.
final class APNsLogFile: Sendable {
    enum Record: Codable, Sendable {
        /// An entry of the log of pushes. It replaces an earlier one of its number.
        case push(entry: APNsPushLog.Entry)
        /// A channel that was created, or deleted if there is no policy.
        case channel(app: String, id: String, policy: APNsChannels.StoragePolicy?)
    }

    private let path: String
    private let descriptor: Int32
    private let appending = Mutex(())

    /// Opens the file, and creates it if there is none.
    ///
    /// - Throws: ``APNsLogFileError``.
    init(path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw APNsLogFileError.system("cannot be opened", path) }
        (self.path, self.descriptor) = (path, descriptor)
    }

    deinit {
        close(descriptor)
    }

    /// Reads all records, the oldest first. Cuts off an incomplete last line, which a killed simulator has left: its
    /// client has received no answer. Must precede the first ``append(_:)``.
    ///
    /// - Throws: ``APNsLogFileError``, also for an error of `body`.
    func readRecords(_ body: (Record) throws -> Void) throws {
        guard let file = fopen(path, "r") else { throw APNsLogFileError.system("cannot be read", path) }
        var buffer: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer {
            free(buffer)
            fclose(file)
        }
        var (number, length) = (0, 0)
        while true {
            let count = getline(&buffer, &capacity, file)
            guard count > 0, let start = buffer else { break }
            let line = Data(bytes: start, count: count)
            guard line.last == UInt8(ascii: "\n") else {
                if line.first == UInt8(ascii: "{") { break }
                throw APNsLogFileError("is no log of APNs", path)
            }
            number += 1
            length += count
            do {
                try body(try JSON.decode(Record.self, from: line))
            } catch {
                throw APNsLogFileError("is wrong in line \(number): \(error)", path)
            }
        }
        guard ferror(file) == 0 else { throw APNsLogFileError.system("cannot be read", path) }
        guard ftruncate(descriptor, off_t(length)) == 0 else {
            throw APNsLogFileError.system("cannot be truncated", path)
        }
    }

    /// Appends a record.
    ///
    /// Ends the process with the reason if the file does not take the record, because the disk is full for example. The
    /// client then receives no answer, and a test cannot compare with a log that lacks a push.
    func append(_ record: Record) {
        // The process ends under the lock, so that no line follows an incomplete one.
        appending.withLock { _ in
            do {
                var line = try JSON.encode(record)
                line.append(UInt8(ascii: "\n"))
                let written = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                guard written >= 0 else { throw APNsLogFileError.system("cannot be written", path) }
                guard written == line.count else {
                    throw APNsLogFileError("has taken only \(written) of \(line.count) bytes", path)
                }
            } catch {
                fatalError("\(error)")
            }
        }
    }
}

/// The file of APNs' log cannot be opened, read or written.
struct APNsLogFileError: Error, CustomStringConvertible {
    let description: String

    init(_ problem: String, _ path: String) {
        description = "APNs' log \(path) \(problem)"
    }

    /// With the error of the last system call.
    static func system(_ problem: String, _ path: String) -> Self {
        Self("\(problem): \(String(cString: strerror(errno)))", path)
    }
}
