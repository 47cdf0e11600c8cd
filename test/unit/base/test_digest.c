/* Tests of the hashes in base/strings.h, against Go's hash/fnv, coreutils and RFC 4122. */
#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void fnv_hashes_equal_gos(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t hash32;
        uint64_t hash64;
    } table[] = {
        {"", 0x811c9dc5, 0xcbf29ce484222325},
        {"a", 0xe40c292c, 0xaf63dc4c8601ec8c},
        {"vmi-1", 0x4b9ef505, 0x8d7aee7054b1c685},
        {"kubevirt.io/vm", 0x66228b51, 0x1e17b1148ebae9f1},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(table); i++) {
        assert_int_equal(kb_fnv32a(table[i].text, strlen(table[i].text)), table[i].hash32);
        assert_int_equal(kb_fnv64a(table[i].text, strlen(table[i].text)), table[i].hash64);
    }
}

static void digests_are_lower_case_hex(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sha1, *sha256, *md5;
    } table[] = {
        {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "d41d8cd98f00b204e9800998ecf8427e"},
        {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d",
         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "900150983cd24fb0d6963f7d28e17f72"},
        {"launcher Pod", "ed548a016fc88f4588cafae368b3a0162f644239",
         "8b436dcd09fd344d1d089a101190d24319537d4e87d72193e0c3149d2a6c2816", "0ba6a2e4684d0889bb3326eae32c03c1"},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(table); i++) {
        size_t n = strlen(table[i].text);
        char sha1[KB_SHA1_HEX], sha256[KB_SHA256_HEX], md5[KB_MD5_HEX];
        kb_sha1_hex(table[i].text, n, sha1);
        kb_sha256_hex(table[i].text, n, sha256);
        kb_md5_hex(table[i].text, n, md5);
        assert_string_equal(sha1, table[i].sha1);
        assert_string_equal(sha256, table[i].sha256);
        assert_string_equal(md5, table[i].md5);
    }
}

static void names_give_version_5_uuids(void **state)
{
    (void)state;
    static const unsigned char dns[16] = {0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1,
                                          0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
    char text[KB_UUID_TEXT];
    kb_uuid_v5(dns, "example.com", text);
    assert_string_equal(text, "cfbff0d1-9375-5685-968c-48ce8b15ae17");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fnv_hashes_equal_gos),
        cmocka_unit_test(digests_are_lower_case_hex),
        cmocka_unit_test(names_give_version_5_uuids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
