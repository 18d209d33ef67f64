-- What has ended is removed by one replica at a time: who holds a row here sweeps the table of that name.
CREATE TABLE sweeps (
    table_name text PRIMARY KEY,
    -- Where the next batch begins, in blocks of the table.
    block bigint NOT NULL DEFAULT 0,
    -- Not before that.
    due_at timestamptz NOT NULL DEFAULT statement_timestamp()
) WITH (fillfactor = 50);

INSERT INTO sweeps (table_name) VALUES ('sessions'), ('users'), ('revocations'), ('audit_events');
