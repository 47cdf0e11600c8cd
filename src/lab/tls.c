/*
 * A self-signed certificate, see tls.h. It is its own CA, so that a kubeconfig can name it.
 */
#include "lab/tls.h"
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>
#include <time.h>

#define VALID_SECONDS (10 * 365 * 24 * 3600L)

static int failed(struct kube_error *reterr, int rc)
{
    return kube_error_set(reterr, KUBE_ERROR_INTERNAL, "make a certificate: %s", gnutls_strerror(rc));
}

static int add_address(gnutls_x509_crt_t crt, const char *address)
{
    unsigned char bytes[16];
    unsigned n = 0;
    if (inet_pton(AF_INET, address, bytes) == 1)
        n = 4;
    else if (inet_pton(AF_INET6, address, bytes) == 1)
        n = 16;
    return n ? gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, bytes, n, GNUTLS_FSAN_APPEND) : 0;
}

static int fill(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, const char *address)
{
    static const char name[] = "virt-lab", host[] = "localhost";
    static const unsigned char serial[] = {1};
    time_t now = time(NULL);
    int rc = gnutls_x509_crt_set_version(crt, 3);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_key(crt, key);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_serial(crt, serial, sizeof(serial));
    if (rc >= 0)
        rc = gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, strlen(name));
    if (rc >= 0)
        rc = gnutls_x509_crt_set_activation_time(crt, now - 3600);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_expiration_time(crt, now + VALID_SECONDS);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_basic_constraints(crt, 1, -1);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, host, strlen(host), GNUTLS_FSAN_APPEND);
    if (rc >= 0)
        rc = add_address(crt, "127.0.0.1");
    if (rc >= 0 && strcmp(address, "127.0.0.1") != 0)
        rc = add_address(crt, address);
    return rc < 0 ? rc : gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
}

static const char *take_pem(struct kb_arena *arena, gnutls_datum_t *pem)
{
    const char *text = kb_arena_strndup(arena, (const char *)pem->data, pem->size);
    gnutls_free(pem->data);
    return text;
}

int lab_tls_self_signed(struct kb_arena *arena, const char *address, const char **ret_certificate, const char **ret_key,
                        struct kube_error *reterr)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crt_t crt = NULL;
    gnutls_datum_t key_pem = {0}, crt_pem = {0};
    int rc = gnutls_x509_privkey_init(&key);
    if (rc >= 0)
        rc = gnutls_x509_crt_init(&crt);
    if (rc >= 0)
        rc = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (rc >= 0)
        rc = fill(crt, key, address);
    if (rc >= 0)
        rc = gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &key_pem);
    if (rc >= 0)
        rc = gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &crt_pem);
    if (rc >= 0) {
        *ret_certificate = take_pem(arena, &crt_pem);
        *ret_key = take_pem(arena, &key_pem);
    }
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
    return rc < 0 ? failed(reterr, rc) : 0;
}
