/*
 * Small helpers on C strings; all take "" and never NULL unless they say so.
 */
#ifndef BASE_STRINGS_H
#define BASE_STRINGS_H

#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool kb_streq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}
/* NULL equals only NULL. */
static inline bool kb_streq_null(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}
static inline bool kb_empty(const char *s)
{
    return !s || !*s;
}
bool kb_starts_with(const char *text, const char *prefix);
bool kb_ends_with(const char *text, const char *suffix);
/* `text` behind `prefix`, or NULL when it does not start so. */
const char *kb_after_prefix(const char *text, const char *prefix);
bool kb_in_list(const char *text, const char *const *list, size_t n);
/* Parses all of `text` as a decimal integer in [min, max]; false otherwise. */
bool kb_parse_int(const char *text, long long min, long long max, long long *ret);
/* Splits at `separator`; empty parts are kept, as Go's strings.Split. Returns the count. */
size_t kb_split(struct kb_arena *arena, const char *text, char separator, const char *const **ret_parts);
const char *kb_join(struct kb_arena *arena, const char *const *parts, size_t n, const char *separator);
/* Go's path.Dir: all but the last element, shortest spelling ("/a/../b//c" -> "/b", "c" -> "."). */
const char *kb_path_dir(struct kb_arena *arena, const char *path);
/* Go's %q for a string. Characters that Unicode has not assigned count as printable. */
const char *kb_quote(struct kb_arena *arena, const char *text);
bool kb_utf8_valid(const char *bytes, size_t n);
/* Reads the first character of bytes[0..n). Returns its length, or 0 when it is not valid UTF-8 or n is 0. */
size_t kb_utf8_decode(const char *bytes, size_t n, uint32_t *ret);

/* RFC 4648 base64 with padding. kb_base64_decode returns NULL when `text` is not valid; it skips line ends, as Go. */
char *kb_base64_encode(struct kb_arena *arena, const void *bytes, size_t n);
unsigned char *kb_base64_decode(struct kb_arena *arena, const char *text, size_t *ret_n);

/* Hashes: FNV-1a 32/64 bit (as Go's hash/fnv), and SHA-1/SHA-256/MD5 as lower-case hex. */
uint32_t kb_fnv32a(const void *bytes, size_t n);
uint64_t kb_fnv64a(const void *bytes, size_t n);
#define KB_SHA1_HEX   41
#define KB_SHA256_HEX 65
#define KB_MD5_HEX    33
void kb_sha1_hex(const void *bytes, size_t n, char ret[KB_SHA1_HEX]);
void kb_sha256_hex(const void *bytes, size_t n, char ret[KB_SHA256_HEX]);
void kb_md5_hex(const void *bytes, size_t n, char ret[KB_MD5_HEX]);

/* RFC 4122 version 5 (SHA-1) UUID text of `name` in the name space `space` (16 bytes). */
#define KB_UUID_TEXT 37
void kb_uuid_v5(const unsigned char space[16], const char *name, char ret[KB_UUID_TEXT]);
/* The text of 16 bytes as a UUID of the given RFC 4122 version: version and variant bits are set. */
void kb_uuid_text(const unsigned char bytes[16], int version, char ret[KB_UUID_TEXT]);

#endif
