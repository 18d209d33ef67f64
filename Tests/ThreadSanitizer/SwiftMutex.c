// What the thread sanitizer has to be told about Swift's `Mutex` on Linux.
//
// The compiler puts the quick ways of locking and unlocking into our code, where the sanitizer sees them. The slow ones,
// for a mutex that somebody else holds, are in the Swift library, which is not built for the sanitizer: it would take
// everything that such a mutex protects for a race. `test.sh --threads` loads this library in front of Swift's.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT_METHOD __attribute__((swiftcall))
#define SWIFT_SELF __attribute__((swift_context))
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// Of the sanitizer. Weak, because this library is loaded into programs without it too.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

SWIFT_METHOD void lock_slow(uint32_t state, SWIFT_SELF void *mutex) __asm__(LOCK_SLOW);
SWIFT_METHOD void unlock_slow(SWIFT_SELF void *mutex) __asm__(UNLOCK_SLOW);

SWIFT_METHOD void lock_slow(uint32_t state, SWIFT_SELF void *mutex) {
    SWIFT_METHOD void (*next)(uint32_t, SWIFT_SELF void *) = dlsym(RTLD_NEXT, LOCK_SLOW);
    next(state, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT_METHOD void unlock_slow(SWIFT_SELF void *mutex) {
    SWIFT_METHOD void (*next)(SWIFT_SELF void *) = dlsym(RTLD_NEXT, UNLOCK_SLOW);
    if (__tsan_release) __tsan_release(mutex);
    next(mutex);
}
