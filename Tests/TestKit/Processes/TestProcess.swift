public import Foundation
import Synchronization

/// A program that a test has started, and may suspend, continue and kill.
///
/// Not Foundation's `Process`: between listing the open descriptors and starting the program it lets the program
/// inherit sockets that other tests open. These then stay open until the program ends, although the tests have closed
/// them.
public final class TestProcess: Sendable {
    private static let coverage = "LLVM_PROFILE_FILE"

    public let processID: Int32
    /// The exit status, or the signal that ended the process, once the kernel has told it: the process is gone then,
    /// and another one may get its number.
    private let ended = Mutex<Int32?>(nil)

    /// Starts `executable`: a path, or a name to look up in `PATH`. Its output goes to `output`, a file that is
    /// created; by default it is discarded. In addition to `environment` it receives the variables that a coverage run
    /// needs.
    public init(
        _ executable: String, _ arguments: [String], environment: [String: String]? = nil, output: URL? = nil
    ) throws {
        var variables = environment ?? ProcessInfo.processInfo.environment
        variables[Self.coverage] = ProcessInfo.processInfo.environment[Self.coverage]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(
            &actions, STDOUT_FILENO, output?.path ?? "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        try Self.closeFrom(&actions, STDERR_FILENO + 1)
        // Swift's threads block signals, and a program inherits that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let path = try Self.locate(executable).path
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var assignments: [UnsafeMutablePointer<CChar>?] = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in words + assignments { free(text) } }
        var processID: pid_t = 0
        let error = posix_spawn(&processID, path, &actions, &attributes, &words, &assignments)
        guard error == 0 else { throw TestKitError("\(path) does not start: \(String(cString: strerror(error)))") }
        self.processID = processID
    }

    /// `posix_spawn_file_actions_addclosefrom_np`, which glibc declares to programs with GNU's extensions only.
    private static func closeFrom(_ actions: inout posix_spawn_file_actions_t, _ first: Int32) throws {
        typealias Function = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
        guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else {
            throw TestKitError("The tests need glibc 2.34 or later.")
        }
        _ = unsafeBitCast(symbol, to: Function.self)(&actions, first)
    }

    public var isRunning: Bool { exitStatus == nil }

    /// Sends a signal: `SIGSTOP`, `SIGCONT`, `SIGTERM`, `SIGKILL` …
    public func signal(_ number: Int32) {
        ended.withLock { ended in
            ended = ended ?? change(WEXITED)?.status
            if ended == nil { kill(processID, number) }
        }
    }

    /// Sends `SIGSTOP`, which holds until `SIGCONT`. Returns when the process has stopped: on a busy machine it may run
    /// for a moment after the signal.
    public func suspend() async {
        signal(SIGSTOP)
        while isRunning, change(WSTOPPED | WNOWAIT) == nil { await Self.pause() }
    }

    /// Waits until the process has ended. Returns its exit status, or the signal that ended it.
    @discardableResult
    public func waitForExit() async -> Int32 {
        while true {
            if let exitStatus { return exitStatus }
            await Self.pause()
        }
    }

    /// Also sleeps in a cancelled task.
    private static func pause() async {
        await Task { try? await Task.sleep(for: .milliseconds(2)) }.value
    }

    /// `nil` while the process runs.
    private var exitStatus: Int32? {
        ended.withLock { ended in
            ended = ended ?? change(WEXITED)?.status
            return ended
        }
    }

    /// The process' state change, if there was one. Without `WNOWAIT` the kernel tells it once.
    private func change(_ options: Int32) -> siginfo_t? {
        var info = siginfo_t()
        guard waitid(P_PID, id_t(processID), &info, options | WNOHANG) == 0, info.si_signo == SIGCHLD
        else { return nil }
        return info
    }

    /// Kills the process at once and waits until it is gone.
    public func kill9() async {
        signal(SIGKILL)
        await waitForExit()
    }

    private static func locate(_ executable: String) throws -> URL {
        if executable.contains("/") { return URL(filePath: executable) }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        for folder in path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/bin"] {
            let url = URL(filePath: folder).appending(path: executable)
            if FileManager.default.isExecutableFile(atPath: url.path) { return url }
        }
        throw TestKitError("There is no program \(executable). `make test` installs what the tests need.")
    }
}

extension siginfo_t {
    /// The exit status, or the signal that ended or stopped the process.
    fileprivate var status: Int32 { _sifields._sigchld.si_status }
}
