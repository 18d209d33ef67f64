// The documents that the gateway publishes: docs/openapi/public.json and public.html. C embeds them with #embed.
// SwiftPM's .embedInCode would make array literals of them, which take 40 s to compile.
#pragma once

#include <stddef.h>

struct CGatewayDocument {
    const void *bytes;
    size_t count;
};

extern const struct CGatewayDocument CGatewayOpenAPI;
extern const struct CGatewayDocument CGatewayPage;
