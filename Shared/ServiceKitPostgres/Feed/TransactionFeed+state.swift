public import Postgres

extension TransactionFeed {
    /// The feed at one moment, for a reader at some position.
    struct State {
        var history: String
        var snapshot: String
        var isPurgedBeyond: Bool
        var isAhead: Bool
        var hasEntries: Bool

        func reaches(_ position: FeedCursor?) -> Bool {
            guard let position else { return true }
            return position.history == history && !isPurgedBeyond && !isAhead
        }
    }

    /// Reads the feed's state, and whether a reader at this position can go on from there.
    ///
    /// A reader starts over in three cases:
    ///
    /// - The history is another one. It is named by the cluster, the timeline and an epoch. The timeline is that of the
    ///   file which is being written: the control file learns of a promotion only at the next checkpoint, minutes after
    ///   the new primary has begun to use transaction numbers again. The epoch ends with a crash, since after one, too,
    ///   numbers are used again: those of transactions that were rolled back, or committed asynchronously, and had not
    ///   reached the disk.
    /// - Entries were purged that it has not read: of a transaction that began after its snapshot, or that was open in
    ///   it and has ended since. A transaction that is still open, be it for weeks, had no entry that could be purged.
    /// - Its snapshot is ahead of the database, which has gone back in time.
    func state(for position: FeedCursor?) async throws(PostgresError) -> State {
        let seen = position?.seen
        let rows = try await pool.query(
            """
            SELECT
                (SELECT system_identifier FROM pg_control_system())::text || '-' ||
                    ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer::text || '-' ||
                    (SELECT id FROM \(unescaped: source.epoch))::text,
                pg_current_snapshot()::text,
                EXISTS (
                    SELECT FROM \(unescaped: source.horizon)
                    WHERE purged_through < pg_snapshot_xmax(pg_current_snapshot())
                        AND (purged_through >= pg_snapshot_xmax(\(seen)::pg_snapshot)
                            OR EXISTS (
                                SELECT FROM pg_snapshot_xip(\(seen)::pg_snapshot) AS open (id)
                                WHERE id <= purged_through AND pg_visible_in_snapshot(id, pg_current_snapshot())))),
                COALESCE(
                    pg_snapshot_xmax(\(seen)::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot()), false),
                EXISTS (
                    SELECT FROM \(unescaped: source.table)
                    WHERE transaction_id >= \(firstOf: source.table, notIn: seen)
                        AND (\(seen) IS NULL OR NOT pg_visible_in_snapshot(transaction_id, \(seen)::pg_snapshot)
                            AND pg_visible_in_snapshot(transaction_id, pg_current_snapshot())))
            """, usesReserve: true)
        let (history, snapshot, isPurgedBeyond, isAhead, hasEntries) = try rows[0].decode(
            (String?, String, Bool, Bool, Bool).self)
        guard let history else {
            try await beginEpoch()
            return try await state(for: position)
        }
        return State(
            history: history, snapshot: snapshot, isPurgedBeyond: isPurgedBeyond, isAhead: isAhead,
            hasEntries: hasEntries)
    }

    private func beginEpoch() async throws(PostgresError) {
        try await pool.query(
            "INSERT INTO \(unescaped: source.epoch) DEFAULT VALUES ON CONFLICT DO NOTHING", usesReserve: true)
    }
}

extension PostgresQuery.Interpolation {
    /// The first transaction of which the snapshot may not have all entries: the oldest that was open when it was taken
    /// and has written entries since, or else the first that had not begun. The snapshot's own `xmin` will not do: it
    /// may be of a transaction that has been open for weeks, and everything since would be read again.
    mutating func appendInterpolation(firstOf table: String, notIn snapshot: String?) {
        appendInterpolation(
            unescaped: "COALESCE((SELECT transaction_id FROM \(table) WHERE transaction_id = ANY (ARRAY(SELECT ")
        appendLiteral("pg_snapshot_xip(")
        appendInterpolation(snapshot)
        appendInterpolation(unescaped: "::pg_snapshot))) ORDER BY \(table).transaction_id LIMIT 1), pg_snapshot_xmax(")
        appendInterpolation(snapshot)
        appendLiteral("::pg_snapshot), '0')")
    }

    /// `UPDATE` of a feed's horizon to the newest transaction whose entries were removed: readers that have not seen it
    /// start over. In a database that was restored from a dump, entries bear transaction numbers of another cluster;
    /// those that are still to come in this one are ignored.
    ///
    /// - Parameter removed: a query of the same statement, with the column `transaction_id`.
    public mutating func appendInterpolation(raise horizon: String, toThoseOf removed: String) {
        appendInterpolation(
            unescaped: """
                UPDATE \(horizon) SET purged_through = GREATEST(
                    CASE WHEN purged_through < pg_snapshot_xmax(pg_current_snapshot()) THEN purged_through ELSE '0' END,
                    (SELECT transaction_id FROM \(removed)
                        WHERE transaction_id < pg_snapshot_xmax(pg_current_snapshot())
                        ORDER BY transaction_id DESC LIMIT 1))
                WHERE EXISTS (SELECT FROM \(removed))
                """)
    }
}
