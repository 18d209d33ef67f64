#include "CGatewayDocuments.h"

static const unsigned char openAPI[] = {
#embed "../../../docs/openapi/public.json"
};
static const unsigned char page[] = {
#embed "../../../docs/openapi/public.html"
};

const struct CGatewayDocument CGatewayOpenAPI = {openAPI, sizeof openAPI};
const struct CGatewayDocument CGatewayPage = {page, sizeof page};
