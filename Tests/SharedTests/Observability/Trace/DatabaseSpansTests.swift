import ServiceContextModule
import Testing

@testable import Observability

@Suite struct DatabaseSpansTests {
    private func serving<Value>(_ spans: SpanBuffer?, _ trace: TraceContext, _ body: () -> Value) -> Value {
        var context = ServiceContext.topLevel
        context.requestScope = RequestScope(requestID: "r", trace: trace, spans: spans)
        return ServiceContext.withValue(context, operation: body)
    }

    @Test func commandsOfRedisAreLookedAtWhereTracesAreRecorded() {
        let spans = SpanBuffer()
        let tracing = Tracing(sampler: TraceSampler(percent: 100), spans: spans)
        serving(spans, TraceContext()) {
            #expect(DatabaseSpans.redisCommands(at: "cache", 6379, nil) == nil)
            DatabaseSpans.redisCommands(at: "cache", 6379, tracing)?("SET")?(nil)
        }
        #expect(
            spans.take().map(\.attributes) == [
                [.requestID("r"), .databaseSystem("redis"), .server("cache"), .serverPort(6379), .operation("SET")]
            ])
    }

    @Test func areChildrenOfTheRequestThatIsServed() {
        let spans = SpanBuffer()
        let trace = TraceContext(isSampled: true)
        serving(spans, trace) {
            DatabaseSpans(system: "postgresql", server: "db").statement("UPDATE sessions SET a = $1")?(nil)
            DatabaseSpans(system: "redis", server: "cache", port: 6379).command("SET")?("timedOut")
        }
        let (statement, command) = { ($0[0], $0[1]) }(spans.take())
        serving(spans, trace) { DatabaseSpans(system: "postgresql", server: nil).wait()?("pool_exhausted") }
        let wait = spans.take()
        #expect(wait.map(\.name) == ["wait for a connection"] && wait.map(\.kind) == [.internal])
        #expect(wait.first?.parentSpanID == trace.spanID && wait.first?.isError == true)
        for span in [statement, command] {
            #expect(span.traceID == trace.traceID && span.parentSpanID == trace.spanID && span.spanID != trace.spanID)
            #expect(span.kind == .client)
        }
        #expect(statement.name == "UPDATE sessions" && !statement.isError)
        #expect(
            statement.attributes == [
                .requestID("r"), .databaseSystem("postgresql"), .server("db"), .operation("UPDATE"),
                .statement("UPDATE sessions SET a = $1"),
            ])
        #expect(command.name == "SET" && command.isError)
        #expect(
            command.attributes == [
                .requestID("r"), .databaseSystem("redis"), .server("cache"), .serverPort(6379), .operation("SET"),
                .errorType("timedOut"),
            ])
    }

    @Test func areNoneWhereNoTraceIsRecorded() {
        let database = DatabaseSpans(system: "postgresql", server: nil)
        #expect(database.statement("SELECT 1") == nil && database.command("GET") == nil && database.wait() == nil)
        #expect(serving(nil, TraceContext(isSampled: true)) { database.statement("SELECT 1") } == nil)
    }

    @Test(arguments: [
        ("SELECT a, b FROM users u WHERE u.id = $1", "SELECT users"), ("BEGIN", "BEGIN"),
        ("\n  insert into sessions(a)\nvalues ($1) on conflict do update set a = 1", "INSERT sessions"),
        ("WITH gone AS (DELETE FROM outbox WHERE id = $1 RETURNING id) SELECT * FROM gone", "WITH outbox"),
        ("UPDATE \"sessions\" SET x = 1", "UPDATE sessions"), ("", "UNKNOWN"), ("SELECT 1 FROM", "SELECT"),
    ])
    func statementsHaveAName(sql: String, name: String) {
        #expect(SQLSummary(sql).text == name)
    }

    @Test func onlyKnownMethodsAreRepeated() {
        #expect(SpanAttribute.method("PATCH") == SpanAttribute("http.request.method", .text("PATCH")))
        #expect(SpanAttribute.method("eyJhbGciOi") == SpanAttribute("http.request.method", .text("_OTHER")))
        #expect(SpanAttribute.nameOfMethod("eyJhbGciOi") == "HTTP")
    }
}
