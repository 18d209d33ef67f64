// What the gateway publishes of the contract: docs/openapi/public.json and public.html. C has #embed, and compiles both
// in 0.02 s. SwiftPM's .embedInCode would make array literals of them, which take 40 s.
#pragma once

#include <stddef.h>

struct CGatewayDocument {
    const void *bytes;
    size_t count;
};

extern const struct CGatewayDocument CGatewayOpenAPI;
extern const struct CGatewayDocument CGatewayPage;
