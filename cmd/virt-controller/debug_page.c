/*
 * The forms of a page. The HTML needs no script, no font and no file besides itself, and follows the reader's choice of
 * a dark or light screen.
 */
#include "cmd/virt-controller/debug_page.h"
#include "base/strings.h"
#include "base/vec.h"

struct debug_section *debug_add_section(struct debug_page *page, const char *title, const char *name, const char *note,
                                        const struct debug_column *columns, size_t n_columns)
{
    struct debug_section *section = kb_vec_push(page->arena, page);
    *section =
        (struct debug_section){.title = title, .name = name, .note = note, .columns = columns, .n_columns = n_columns};
    return section;
}

struct debug_cell *debug_add_row(struct debug_page *page, struct debug_section *section)
{
    struct debug_row *row = kb_vec_push(page->arena, section);
    row->cells = kb_arena_many(page->arena, struct debug_cell, section->n_columns);
    for (size_t i = 0; i < section->n_columns; i++)
        row->cells[i] = debug_text("");
    return row->cells;
}

struct debug_cell debug_text(const char *text)
{
    return (struct debug_cell){DEBUG_TEXT, text ? text : "", NULL};
}

struct debug_cell debug_alarm(const char *text)
{
    return (struct debug_cell){*text ? DEBUG_ALARM : DEBUG_TEXT, text, NULL};
}

struct debug_cell debug_number(struct debug_page *page, double value, int digits)
{
    return (struct debug_cell){DEBUG_NUMBER, kb_arena_printf(page->arena, "%.*f", digits, value), NULL};
}

/* ---- HTML ---- */

static const char style[] =
    ":root{color-scheme:light dark;--line:#8884;--soft:#8881}"
    "body{font:14px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:84rem;padding:0 1rem}"
    "h1{font-size:1.35rem;margin:0 0 .2rem}h2{font-size:1.05rem;margin:1.8rem 0 .3rem}"
    "nav a{margin-right:1rem}p{margin:.2rem 0 .5rem;opacity:.75}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;min-width:40%}"
    "th,td{text-align:left;vertical-align:top;padding:.2rem .7rem .2rem 0;border-bottom:1px solid var(--line)}"
    "th{font-weight:600;white-space:nowrap;opacity:.75}tbody tr:hover{background:var(--soft)}"
    ".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td{overflow-wrap:anywhere}"
    "td:first-child{white-space:nowrap;overflow-wrap:normal}.a{color:#c62828}"
    "@media(prefers-color-scheme:dark){.a{color:#ff8a80}}";

static void put_html(struct kb_strbuf *ret, const char *text)
{
    static const struct {
        char letter;
        const char *entity;
    } entities[] = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (; *text; text++) {
        size_t i = 0;
        while (i < KB_ARRAY_LEN(entities) && entities[i].letter != *text)
            i++;
        if (i < KB_ARRAY_LEN(entities))
            kb_strbuf_puts(ret, entities[i].entity);
        else
            kb_strbuf_putc(ret, *text);
    }
}

static void put_cell(const struct debug_cell *cell, struct kb_strbuf *ret)
{
    static const char *const opening[] = {
        [DEBUG_TEXT] = "<td>", [DEBUG_NUMBER] = "<td class=n>", [DEBUG_ALARM] = "<td class=a>"};
    kb_strbuf_puts(ret, opening[cell->kind]);
    if (cell->link) {
        kb_strbuf_puts(ret, "<a href=\"");
        put_html(ret, cell->link);
        kb_strbuf_puts(ret, "\">");
    }
    put_html(ret, cell->text);
    if (cell->link)
        kb_strbuf_puts(ret, "</a>");
    kb_strbuf_puts(ret, "</td>");
}

/* Columns of numbers have their title on the right, too. */
static void put_titles(const struct debug_section *section, struct kb_strbuf *ret)
{
    kb_strbuf_puts(ret, "<thead><tr>");
    for (size_t i = 0; i < section->n_columns; i++) {
        kb_strbuf_puts(ret, section->items[0].cells[i].kind == DEBUG_NUMBER ? "<th class=n>" : "<th>");
        put_html(ret, section->columns[i].title);
        kb_strbuf_puts(ret, "</th>");
    }
    kb_strbuf_puts(ret, "</tr></thead>\n<tbody>\n");
}

static void put_section(const struct debug_section *section, struct kb_strbuf *ret)
{
    kb_strbuf_printf(ret, "<h2 id=%s>", section->name);
    put_html(ret, section->title);
    kb_strbuf_puts(ret, "</h2>\n");
    if (section->note || section->n == 0) {
        kb_strbuf_puts(ret, "<p>");
        put_html(ret, section->n == 0 ? "none" : section->note);
        kb_strbuf_puts(ret, "</p>\n");
    }
    if (section->n == 0)
        return;
    kb_strbuf_puts(ret, "<div class=wide><table>\n");
    put_titles(section, ret);
    for (size_t i = 0; i < section->n; i++) {
        kb_strbuf_puts(ret, "<tr>");
        for (size_t k = 0; k < section->n_columns; k++)
            put_cell(&section->items[i].cells[k], ret);
        kb_strbuf_puts(ret, "</tr>\n");
    }
    kb_strbuf_puts(ret, "</tbody></table></div>\n");
}

void debug_page_html(const struct debug_page *page, struct kb_strbuf *ret)
{
    kb_strbuf_puts(ret, "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
                        "<meta name=viewport content=\"width=device-width\">\n<title>");
    put_html(ret, page->title);
    kb_strbuf_printf(ret, "</title>\n<style>%s</style></head>\n<body><h1>", style);
    put_html(ret, page->title);
    kb_strbuf_puts(ret, "</h1>\n<nav>");
    if (page->up)
        kb_strbuf_printf(ret, "<a href=\"%s\">overview</a>", page->up);
    for (size_t i = 0; i < page->n && page->n > 1; i++) {
        kb_strbuf_printf(ret, "<a href=\"#%s\">", page->items[i].name);
        put_html(ret, page->items[i].title);
        kb_strbuf_puts(ret, "</a>");
    }
    kb_strbuf_puts(ret, "</nav>\n");
    for (size_t i = 0; i < page->n; i++)
        put_section(&page->items[i], ret);
    kb_strbuf_puts(ret, "</body></html>\n");
}

/* ---- JSON ---- */

static void put_json_cell(const struct debug_cell *cell, struct kb_strbuf *ret)
{
    if (cell->kind == DEBUG_NUMBER)
        kb_strbuf_puts(ret, cell->text);
    else if (*cell->text)
        kb_strbuf_json_string(ret, cell->text, strlen(cell->text));
    else
        kb_strbuf_puts(ret, "null");
}

static void put_json_row(const struct debug_section *section, const struct debug_row *row, struct kb_strbuf *ret)
{
    kb_strbuf_putc(ret, '{');
    for (size_t i = 0; i < section->n_columns; i++) {
        kb_strbuf_printf(ret, "%s\"%s\":", i ? "," : "", section->columns[i].name);
        put_json_cell(&row->cells[i], ret);
    }
    kb_strbuf_putc(ret, '}');
}

void debug_page_json(const struct debug_page *page, struct kb_strbuf *ret)
{
    kb_strbuf_putc(ret, '{');
    for (size_t i = 0; i < page->n; i++) {
        kb_strbuf_printf(ret, "%s\"%s\":[", i ? "," : "", page->items[i].name);
        for (size_t k = 0; k < page->items[i].n; k++) {
            if (k)
                kb_strbuf_putc(ret, ',');
            put_json_row(&page->items[i], &page->items[i].items[k], ret);
        }
        kb_strbuf_putc(ret, ']');
    }
    kb_strbuf_putc(ret, '}');
}
