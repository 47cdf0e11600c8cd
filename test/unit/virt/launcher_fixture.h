/*
 * VMIs, configurations and claims from JSON, for tests of the launcher. Everything lives until fixture_done.
 */
#ifndef TEST_VIRT_LAUNCHER_FIXTURE_H
#define TEST_VIRT_LAUNCHER_FIXTURE_H

#include "virt/launcher/launcher_internal.h"

struct fixture {
    struct kb_arena *arena;
    const struct virt_config *config;
    struct virt_launcher_settings settings;
    struct virt_launcher_lookups lookups;
    struct {
        size_t n;
        const struct core_pvc **items;
    } claims; /* what the look-up finds */
    struct virt_launcher_input input;
    struct launcher launcher; /* facts of the input, no parts */
};

/* `configuration` is spec.configuration of the CR; NULL: defaults. `vmi` has name "vm", namespace "ns" and UID "uid-1"
 * unless it says otherwise. JSON is written with ' in place of ". */
void fixture_init(struct fixture *f, const char *configuration, const char *vmi);
void fixture_done(struct fixture *f);
void fixture_add_claim(struct fixture *f, const char *claim);
const void *fixture_decode(struct fixture *f, const struct api_type *type, const char *json);
/* The words of a list with blanks between. */
const char *fixture_join(struct fixture *f, const struct api_strings *words);

#endif
