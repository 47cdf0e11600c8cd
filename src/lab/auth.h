/*
 * Who a request comes from: static bearer tokens.
 */
#ifndef LAB_AUTH_H
#define LAB_AUTH_H

#include "lab/call.h"

/* Sets the call's user and groups from the Authorization header ("" when there is none). */
int lab_auth_user(struct lab_call *call, const char *authorization);

#endif
