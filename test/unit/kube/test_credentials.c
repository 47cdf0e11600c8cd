/* Tests of kube/credentials.h: when rotating sources are read again. */
#include "base/strings.h"
#include "kube/credentials.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define S KB_NS_PER_S

struct world {
    char directory[64];
    struct kb_clock_fake *time;
    struct kube_config config;
    struct kube_credentials *credentials;
    struct kube_error error;
    char *files[3];
    size_t n_files;
};

static int set_up(void **state)
{
    struct world *w = kb_malloc(sizeof *w);
    snprintf(w->directory, sizeof w->directory, "/tmp/test_credentials.XXXXXX");
    assert_non_null(mkdtemp(w->directory));
    w->time = kb_clock_fake_new(0);
    w->config.server = "https://a";
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    kb_cleanup_free char *command = kb_asprintf("rm -rf %s", w->directory);
    kube_credentials_free(w->credentials);
    kb_clock_fake_free(w->time);
    for (size_t i = 0; i < w->n_files; i++)
        free(w->files[i]);
    free(w);
    return system(command);
}

static const char *path_of(struct world *w, const char *name)
{
    w->files[w->n_files] = kb_asprintf("%s/%s", w->directory, name);
    return w->files[w->n_files++];
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void open_credentials(struct world *w)
{
    w->credentials = kube_credentials_new(&w->config, kb_clock_fake_clock(w->time), NULL, NULL);
}

static struct kube_auth get(struct world *w)
{
    struct kube_auth auth;
    if (kube_credentials_get(w->credentials, &auth, &w->error) != KUBE_AUTH_READY)
        fail_msg("%s", w->error.message);
    return auth;
}

static void a_token_file_is_read_again_once_a_minute(void **state)
{
    struct world *w = *state;
    w->config.token_file = path_of(w, "token");
    write_text(w->config.token_file, " one\n");
    open_credentials(w);
    struct kube_auth first = get(w);
    assert_string_equal(first.authorization, "Bearer one");
    write_text(w->config.token_file, "two");
    kb_clock_fake_advance(w->time, 59 * S);
    assert_string_equal(get(w).authorization, "Bearer one");
    kb_clock_fake_advance(w->time, 1 * S);
    struct kube_auth second = get(w);
    assert_string_equal(second.authorization, "Bearer two");
    assert_int_not_equal(second.generation, first.generation);
}

static void a_token_file_that_goes_away_leaves_the_last_token(void **state)
{
    struct world *w = *state;
    w->config.token_file = path_of(w, "token");
    write_text(w->config.token_file, "one");
    open_credentials(w);
    get(w);
    unlink(w->config.token_file);
    kb_clock_fake_advance(w->time, 120 * S);
    assert_string_equal(get(w).authorization, "Bearer one");
}

static void a_token_file_that_was_never_there_is_an_error_until_it_comes(void **state)
{
    struct world *w = *state;
    struct kube_auth auth;
    w->config.token_file = path_of(w, "token");
    open_credentials(w);
    assert_int_equal(kube_credentials_get(w->credentials, &auth, &w->error), KUBE_AUTH_FAILED);
    assert_non_null(strstr(w->error.message, w->config.token_file));
    write_text(w->config.token_file, "");
    assert_int_equal(kube_credentials_get(w->credentials, &auth, &w->error), KUBE_AUTH_FAILED);
    write_text(w->config.token_file, "a\nb");
    assert_int_equal(kube_credentials_get(w->credentials, &auth, &w->error), KUBE_AUTH_FAILED);
    write_text(w->config.token_file, "one");
    assert_string_equal(get(w).authorization, "Bearer one");
}

static void a_refused_token_is_read_again_at_once(void **state)
{
    struct world *w = *state;
    w->config.token_file = path_of(w, "token");
    write_text(w->config.token_file, "one");
    open_credentials(w);
    struct kube_auth auth = get(w);
    assert_false(kube_credentials_refused(w->credentials, auth.generation));
    write_text(w->config.token_file, "two");
    assert_true(kube_credentials_refused(w->credentials, auth.generation));
    assert_string_equal(get(w).authorization, "Bearer two");
    /* Another request that went out with the old one: there is a new one already. */
    assert_true(kube_credentials_refused(w->credentials, auth.generation));
}

static void assert_file(const char *path, const char *text)
{
    kb_cleanup_free char *got = NULL;
    assert_int_equal(kube_read_file(path, &got, NULL), 0);
    assert_string_equal(got, text);
}

static void client_certificates_are_read_again_every_five_minutes_under_another_name(void **state)
{
    struct world *w = *state;
    w->config.client_cert_file = path_of(w, "cert");
    w->config.client_key_file = path_of(w, "key");
    write_text(w->config.client_cert_file, "cert 1");
    write_text(w->config.client_key_file, "key 1");
    open_credentials(w);
    struct kube_auth auth = get(w);
    kb_cleanup_free char *first = kb_strdup(auth.cert_path);
    assert_file(auth.cert_path, "cert 1");
    assert_file(auth.key_path, "key 1");
    write_text(w->config.client_cert_file, "cert 2");
    kb_clock_fake_advance(w->time, 299 * S);
    assert_string_equal(get(w).cert_path, first);
    kb_clock_fake_advance(w->time, 1 * S);
    auth = get(w);
    assert_string_not_equal(auth.cert_path, first);
    assert_file(auth.cert_path, "cert 2");
    assert_file(auth.key_path, "key 1");
}

static void fixed_credentials_never_change(void **state)
{
    struct world *w = *state;
    w->config.token = "fixed";
    open_credentials(w);
    struct kube_auth auth = get(w);
    assert_string_equal(auth.authorization, "Bearer fixed");
    assert_null(auth.cert_path);
    kb_clock_fake_advance(w->time, 3600 * S);
    assert_int_equal(get(w).generation, auth.generation);
    assert_false(kube_credentials_refused(w->credentials, auth.generation));
}

static void a_file_of_more_than_a_mebibyte_is_refused(void **state)
{
    struct world *w = *state;
    const char *path = path_of(w, "large");
    FILE *f = fopen(path, "w");
    for (int i = 0; i <= 1 << 20; i++)
        fputc('x', f);
    fclose(f);
    char *text;
    assert_int_equal(kube_read_file(path, &text, &w->error), -1);
    assert_non_null(strstr(w->error.message, "larger than 1 MiB"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_token_file_is_read_again_once_a_minute),
        TEST(a_token_file_that_goes_away_leaves_the_last_token),
        TEST(a_token_file_that_was_never_there_is_an_error_until_it_comes),
        TEST(a_refused_token_is_read_again_at_once),
        TEST(client_certificates_are_read_again_every_five_minutes_under_another_name),
        TEST(fixed_credentials_never_change),
        TEST(a_file_of_more_than_a_mebibyte_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
