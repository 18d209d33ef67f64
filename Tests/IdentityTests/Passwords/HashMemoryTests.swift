import Testing

@testable import IdentityService

@Suite struct HashMemoryTests {
    @Test func isReusedAndGivenBack() throws {
        let memory = HashMemory()
        let block = try #require(memory.take(1 << 20))
        memory.release(block, size: 1 << 20)
        #expect(memory.take(1 << 20) == block)
        memory.release(block, size: 1 << 20)
        memory.trim(idleFor: .seconds(60))
        #expect(memory.take(1 << 20) == block)
        memory.release(block, size: 1 << 20)
        memory.trim(idleFor: .zero)
        #expect(memory.isEmpty)
    }
}
