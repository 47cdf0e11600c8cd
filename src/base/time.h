/*
 * Times and durations as Kubernetes writes them.
 *   times: RFC 3339, "2026-01-02T03:04:05Z" (metav1.Time, whole seconds) and with six digits (metav1.MicroTime)
 *   durations: Go's "1h2m3.5s"
 * Units: nanoseconds since 1970 UTC, and nanoseconds.
 */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

#define KB_TIME_TEXT 40

/* Any RFC 3339 time, any offset, fraction up to nanoseconds. False when it is not one (also ""). Times that 64 bits of
 * nanoseconds do not reach (before 1677, behind 2262: "0001-01-01T00:00:00Z") give INT64_MIN or INT64_MAX. */
bool kb_time_parse(const char *text, int64_t *ret_ns);
void kb_time_format(int64_t ns, char ret[KB_TIME_TEXT]);       /* seconds, Z */
void kb_time_format_micro(int64_t ns, char ret[KB_TIME_TEXT]); /* .000000Z */
const char *kb_time_text(struct kb_arena *arena, int64_t ns);  /* kb_time_format into an arena */
/* Go's time.Time.String() in UTC without monotonic part: "2026-01-02 03:04:05.5 +0000 UTC". */
const char *kb_time_go_string(struct kb_arena *arena, int64_t ns);

/* Go's time.ParseDuration, all units (ns us µs ms s m h), sign, fraction. */
bool kb_duration_parse(const char *text, int64_t *ret_ns);
void kb_duration_format(int64_t ns, char ret[KB_TIME_TEXT]); /* Go's Duration.String() */

#endif
