import Foundation

/// Sockets that were closed on this side first, towards a port, and wait for a minute (TIME_WAIT).
func waitingSockets(to port: Int) throws -> Int {
    try String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8).split(separator: "\n").count { line in
        let columns = line.split(separator: " ")
        return columns.count > 3 && columns[3] == "06"
            && columns[2].split(separator: ":").last.flatMap { Int($0, radix: 16) } == port
    }
}
