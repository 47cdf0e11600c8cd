/* virt-controller: the sub-command `render`, or else the controllers. */
#include "base/strings.h"
#include "cmd/virt-controller/options.h"
#include "cmd/virt-controller/process.h"
#include "cmd/virt-controller/render.h"
#include <stdio.h>

#define VERSION "v1.9.0"

int main(int argc, char **argv)
{
    if (argc > 1 && kb_streq(argv[1], "render"))
        return render_main(argc - 1, argv + 1);
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    kb_cleanup_strbuf struct kb_strbuf usage = {0};
    struct options options;
    struct kube_error error = {0};
    int parsed = options_parse(arena, argc, argv, &options, &error);
    options_usage(&usage);
    if (parsed < 0) {
        fprintf(stderr, "%s%s\n", kb_strbuf_text(&usage), error.message);
        return PROCESS_USAGE;
    }
    if (options.help || options.version) {
        fputs(options.version ? "virt-controller " VERSION "\n" : kb_strbuf_text(&usage), stdout);
        return PROCESS_OK;
    }
    return process_run(&options);
}
