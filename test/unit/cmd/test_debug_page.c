/* The two forms of a page of tables. */
#include "api/codec.h"
#include "base/strings.h"
#include "cmd/virt-controller/debug_page.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct debug_column columns[] = {{"the name", "name"}, {"size, KiB", "kib"}, {"last error", "lastError"}};

static void fill(struct debug_page *page)
{
    struct debug_section *s =
        debug_add_section(page, "Things & more", "things", "A note.", columns, KB_ARRAY_LEN(columns));
    struct debug_cell *c = debug_add_row(page, s);
    c[0] = debug_text("<a>\"b\"");
    c[0].link = "/x?a=1&b=2";
    c[1] = debug_number(page, 1.25, 1);
    c[2] = debug_alarm("it's broken");
    debug_add_section(page, "Nothing", "nothing", NULL, columns, KB_ARRAY_LEN(columns));
}

static void expect_part(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void html_shows_every_cell_and_nothing_of_it_becomes_markup(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    kb_cleanup_strbuf struct kb_strbuf html = {0};
    struct debug_page page = {.arena = arena, .title = "</title>"};
    fill(&page);
    debug_page_html(&page, &html);
    const char *text = kb_strbuf_text(&html);
    expect_part(text, "<title>&lt;/title&gt;</title>");
    expect_part(text, "<h2 id=things>Things &amp; more</h2>");
    expect_part(text, "<td><a href=\"/x?a=1&amp;b=2\">&lt;a&gt;&quot;b&quot;</a></td>");
    expect_part(text, "<td class=n>1.2</td>");
    expect_part(text, "<td class=a>it&#39;s broken</td>");
    expect_part(text, "<h2 id=nothing>Nothing</h2>\n<p>none</p>");
    assert_null(strstr(text, "<script"));
}

static void json_has_the_same_with_numbers_as_numbers_and_nothing_as_null(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    kb_cleanup_strbuf struct kb_strbuf json = {0};
    struct debug_page page = {.arena = arena, .title = "t"};
    fill(&page);
    debug_add_row(&page, &page.items[1]);
    debug_page_json(&page, &json);
    assert_string_equal(kb_strbuf_text(&json),
                        "{\"things\":[{\"name\":\"<a>\\\"b\\\"\",\"kib\":1.2,\"lastError\":\"it's broken\"}],"
                        "\"nothing\":[{\"name\":null,\"kib\":null,\"lastError\":null}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_shows_every_cell_and_nothing_of_it_becomes_markup),
        cmocka_unit_test(json_has_the_same_with_numbers_as_numbers_and_nothing_as_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
