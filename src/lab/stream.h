/*
 * The bodies of lists and watches, made while they are sent: a stream walks over spans of text that belong to the
 * stored objects, so a list of any size costs a reference per item.
 *
 * Threads: one at a time.
 */
#ifndef LAB_STREAM_H
#define LAB_STREAM_H

#include "lab/call.h"
#include <sys/types.h>

struct lab_stream;

/* Of a call whose result is a list or a watch; the call must outlive the stream. */
struct lab_stream *lab_stream_new(struct lab_call *call);
void lab_stream_free(struct lab_stream *stream); /* NULL is allowed */
/* The length of a list's body. */
size_t lab_stream_length(const struct lab_stream *stream);

#define LAB_STREAM_END (-1)
/* Copies up to `max` bytes: how many; 0: a watch with nothing new; LAB_STREAM_END. */
ssize_t lab_stream_read(struct lab_stream *stream, char *to, size_t max);
/* A watch: send a bookmark as soon as the watch has caught up. */
void lab_stream_bookmark(struct lab_stream *stream);

#endif
