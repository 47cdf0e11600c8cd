/*
 * OpenAPI documents, just enough for kubectl to validate, apply and explain.
 */
#ifndef LAB_OPENAPI_H
#define LAB_OPENAPI_H

#include "lab/call.h"

/* False when there is no such document. */
bool lab_openapi_serve(struct lab_call *call, const char *path);

#endif
