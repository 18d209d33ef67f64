import Testing
import Tracing

@testable import GatehouseObservability

@Suite struct DatabaseSpansTests {
    private let tracer = GatehouseTracer(sampler: TraceSampler(percent: 100), spans: SpanBuffer())

    private func serving<Value>(_ trace: TraceContext, _ body: () -> Value) -> Value {
        var context = ServiceContext.topLevel
        context.requestID = "r"
        context.traceContext = trace
        return ServiceContext.withValue(context, operation: body)
    }

    @Test func commandsOfRedisAreLookedAtWhereTracesAreRecorded() {
        serving(TraceContext(isSampled: true)) {
            #expect(DatabaseSpans.redisCommands(at: "cache", 6379, nil) == nil)
            DatabaseSpans.redisCommands(at: "cache", 6379, tracer)?("SET")?(nil)
        }
        #expect(
            tracer.spans.take().map(\.attributes) == [
                [.requestID("r"), .operation("SET"), .databaseSystem("redis"), .server("cache"), .serverPort(6379)]
            ])
    }

    @Test func areChildrenOfTheRequestThatIsServed() {
        let trace = TraceContext(isSampled: true)
        let database = DatabaseSpans(system: "postgresql", server: "db", tracer: tracer)
        serving(trace) {
            database.statement("UPDATE sessions SET a = $1")?(nil)
            DatabaseSpans(system: "redis", server: "cache", port: 6379, tracer: tracer).command("SET")?("timedOut")
        }
        let (statement, command) = { ($0[0], $0[1]) }(tracer.spans.take())
        serving(trace) { database.wait()?("pool_exhausted") }
        let wait = tracer.spans.take()
        #expect(wait.map(\.name) == ["wait for a connection"] && wait.map(\.kind) == [.internal])
        #expect(wait.first?.parentSpanID == trace.spanID && wait.first?.isError == true)
        for span in [statement, command] {
            #expect(span.traceID == trace.traceID && span.parentSpanID == trace.spanID && span.spanID != trace.spanID)
            #expect(span.kind == .client)
        }
        #expect(statement.name == "UPDATE sessions" && !statement.isError)
        #expect(
            statement.attributes == [
                .requestID("r"), .operation("UPDATE"), .statement("UPDATE sessions SET a = $1"),
                .databaseSystem("postgresql"), .server("db"),
            ])
        #expect(command.name == "SET" && command.isError)
        #expect(
            command.attributes == [
                .requestID("r"), .operation("SET"), .databaseSystem("redis"), .errorType("timedOut"),
                .server("cache"), .serverPort(6379),
            ])
    }

    @Test func areNoneWhereNoTraceIsRecorded() {
        let database = DatabaseSpans(system: "postgresql", server: nil, tracer: tracer)
        #expect(database.statement("SELECT 1") == nil && database.command("GET") == nil && database.wait() == nil)
        #expect(serving(TraceContext()) { database.statement("SELECT 1") } == nil)
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
        #expect(FinishedSpan.Attribute.method("PATCH") == .init("http.request.method", "PATCH"))
        #expect(FinishedSpan.Attribute.method("eyJhbGciOi") == .init("http.request.method", "_OTHER"))
        #expect(FinishedSpan.Attribute.nameOfMethod("eyJhbGciOi") == "HTTP")
    }
}
