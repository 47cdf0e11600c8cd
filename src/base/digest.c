/*
 * Hashes. The cryptographic ones are Nettle's: plain functions without a library to initialise.
 */
#include "base/strings.h"
#include <nettle/md5.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stdio.h>

uint32_t kb_fnv32a(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * 16777619u;
    return hash;
}

uint64_t kb_fnv64a(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * 1099511628211u;
    return hash;
}

static void write_hex(const unsigned char *bytes, size_t n, char *ret)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *ret++ = digits[bytes[i] >> 4];
        *ret++ = digits[bytes[i] & 15];
    }
    *ret = '\0';
}

void kb_sha1_hex(const void *bytes, size_t n, char ret[KB_SHA1_HEX])
{
    struct sha1_ctx context;
    unsigned char digest[SHA1_DIGEST_SIZE];
    sha1_init(&context);
    sha1_update(&context, n, bytes);
    sha1_digest(&context, sizeof digest, digest);
    write_hex(digest, sizeof digest, ret);
}

void kb_sha256_hex(const void *bytes, size_t n, char ret[KB_SHA256_HEX])
{
    struct sha256_ctx context;
    unsigned char digest[SHA256_DIGEST_SIZE];
    sha256_init(&context);
    sha256_update(&context, n, bytes);
    sha256_digest(&context, sizeof digest, digest);
    write_hex(digest, sizeof digest, ret);
}

void kb_md5_hex(const void *bytes, size_t n, char ret[KB_MD5_HEX])
{
    struct md5_ctx context;
    unsigned char digest[MD5_DIGEST_SIZE];
    md5_init(&context);
    md5_update(&context, n, bytes);
    md5_digest(&context, sizeof digest, digest);
    write_hex(digest, sizeof digest, ret);
}

void kb_uuid_v5(const unsigned char space[16], const char *name, char ret[KB_UUID_TEXT])
{
    struct sha1_ctx context;
    unsigned char uuid[16];
    sha1_init(&context);
    sha1_update(&context, 16, space);
    sha1_update(&context, strlen(name), (const unsigned char *)name);
    sha1_digest(&context, sizeof uuid, uuid);
    kb_uuid_text(uuid, 5, ret);
}

void kb_uuid_text(const unsigned char bytes[16], int version, char ret[KB_UUID_TEXT])
{
    unsigned char uuid[16];
    memcpy(uuid, bytes, sizeof uuid);
    uuid[6] = (unsigned char)((uuid[6] & 0x0F) | version << 4);
    uuid[8] = (unsigned char)((uuid[8] & 0x3F) | 0x80);
    char hex[33];
    write_hex(uuid, sizeof uuid, hex);
    snprintf(ret, KB_UUID_TEXT, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}
