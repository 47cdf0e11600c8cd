/*
 * The audit log: a line of JSON per write, in the form of kube-apiserver's events at level Metadata.
 */
#ifndef LAB_AUDIT_H
#define LAB_AUDIT_H

#include "base/error.h"
#include "lab/call.h"

struct lab_audit;

int lab_audit_open(const char *path, const char *users, struct lab_audit **ret, struct kube_error *reterr);
void lab_audit_close(struct lab_audit *audit); /* NULL is allowed */
/* After the call was answered; reads are not logged. Threads: any. */
void lab_audit_log(struct lab_audit *audit, const struct lab_call *call);

#endif
