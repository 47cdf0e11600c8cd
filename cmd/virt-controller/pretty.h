/*
 * JSON as the reference's HTTP server prints it (go-restful's pretty form): one space of indent, members sorted by
 * name, no new line at the end.
 */
#ifndef CMD_VIRT_CONTROLLER_PRETTY_H
#define CMD_VIRT_CONTROLLER_PRETTY_H

#include "base/error.h"
#include "base/strbuf.h"

/* Appends JSON text in that form. Negative: it is not JSON, and nothing is appended. */
int pretty_json(const char *json, size_t n, struct kb_strbuf *ret, struct kube_error *reterr);

#endif
