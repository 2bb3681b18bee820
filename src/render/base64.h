/* Bytes as text, for embedding in a page. */
#ifndef TW_RENDER_BASE64_H
#define TW_RENDER_BASE64_H

#include "text/str.h"

void tw_add_base64(struct tw_str *out, const unsigned char *bytes, size_t len);

#endif
