/// Rows under headings, each column as wide as its widest cell.
struct Table: Sendable {
    var headings: [String]
    var rows: [[String]]

    /// Lines without spaces at their ends; cells hold nothing that a terminal obeys.
    var text: String {
        let lines = ([headings] + rows).map { $0.map(Printable.clean) }
        let widths = headings.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { cells in
            let padded = cells.enumerated().map { column, cell in
                column == cells.count - 1 ? cell : cell + String(repeating: " ", count: widths[column] - cell.count)
            }
            let line = padded.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }.joined(separator: "\n")
    }
}
