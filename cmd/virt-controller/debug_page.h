/*
 * A page of facts as tables, and its two forms: HTML for people, JSON for programs. What stands in the page is said
 * once (debug.c); the forms know nothing of it.
 */
#ifndef CMD_VIRT_CONTROLLER_DEBUG_PAGE_H
#define CMD_VIRT_CONTROLLER_DEBUG_PAGE_H

#include "base/arena.h"
#include "base/strbuf.h"
#include <stddef.h>

enum debug_cell_kind { DEBUG_TEXT, DEBUG_NUMBER, DEBUG_ALARM /* a text that wants attention */ };

struct debug_cell {
    enum debug_cell_kind kind;
    const char *text; /* of numbers, too; "" is null in JSON */
    const char *link; /* HTML: where it leads; NULL: nowhere */
};

struct debug_column {
    const char *title; /* of the HTML table, with the unit: "slowest, ms" */
    const char *name;  /* of the JSON member: "slowestMs" */
};

struct debug_row {
    struct debug_cell *cells; /* one for each column */
};

struct debug_section {
    const char *title, *name; /* as of columns */
    const char *note;         /* a sentence under the title; NULL: none */
    const struct debug_column *columns;
    size_t n_columns;
    size_t n;
    struct debug_row *items;
};

struct debug_page {
    struct kb_arena *arena;
    const char *title;
    const char *up; /* HTML: the page above; NULL: none */
    size_t n;
    struct debug_section *items;
};

/* The section stays valid until the next one is added. `columns` must stay. */
struct debug_section *debug_add_section(struct debug_page *page, const char *title, const char *name, const char *note,
                                        const struct debug_column *columns, size_t n_columns);
/* A row of empty texts, to be filled. */
struct debug_cell *debug_add_row(struct debug_page *page, struct debug_section *section);

/* Cells. Texts are borrowed. */
struct debug_cell debug_text(const char *text);
struct debug_cell debug_alarm(const char *text); /* "" is no alarm */
struct debug_cell debug_number(struct debug_page *page, double value, int digits);

void debug_page_html(const struct debug_page *page, struct kb_strbuf *ret);
/* Without indent. */
void debug_page_json(const struct debug_page *page, struct kb_strbuf *ret);

#endif
