/*
 * The sums behind requests and limits. Terms are shown in the order in which the rules add them.
 */
#include "base/quantity.h"
#include "cmd/virt-controller/render_internal.h"

static void print_sum(const struct virt_resource_explanation *terms, bool limit, const char *resource, const char *sum,
                      struct kb_strbuf *out)
{
    kb_strbuf_printf(out, "  %s.%s = %s\n", limit ? "limits" : "requests", resource, sum);
    for (size_t i = 0; i < terms->n; i++) {
        const struct virt_resource_term *term = &terms->items[i];

        if (term->limit == limit && kb_streq(term->resource, resource))
            kb_strbuf_printf(out, "    %c %-12s %s\n", *term->quantity == '-' ? '-' : '+',
                             term->quantity + (*term->quantity == '-'), term->rule);
    }
}

static void print_given(const struct api_string_map *amounts, const char *side, struct kb_strbuf *out)
{
    api_list_foreach (amount, amounts)
        kb_strbuf_printf(out, "  %s.%s = %s\n", side, amount->key, amount->value);
}

static void print_others(const struct core_container_list *containers, const char *kind, struct kb_strbuf *out)
{
    api_list_foreach (container, containers) {
        if (kb_streq(container->name, "compute"))
            continue;
        kb_strbuf_printf(out, "%s %s: fixed, or by supportContainerResources\n", kind, container->name);
        print_given(&container->resources.requests, "requests", out);
        print_given(&container->resources.limits, "limits", out);
    }
}

int render_explain(struct kb_arena *arena, const struct virt_launcher_input *input, const struct core_pod *pod,
                   struct kb_strbuf *out, struct kube_error *reterr)
{
    const struct core_resource_requirements *compute = &pod->spec.containers.items[0].resources;
    struct virt_resource_explanation terms;

    if (virt_launcher_explain(arena, input, &terms, reterr) < 0)
        return -1;
    kb_strbuf_printf(out, "# launcher Pod of %s/%s\n", input->vmi->metadata.namespace, input->vmi->metadata.name);
    kb_strbuf_puts(out, "container compute:\n");
    api_list_foreach (amount, &compute->requests)
        print_sum(&terms, false, amount->key, amount->value, out);
    api_list_foreach (amount, &compute->limits)
        print_sum(&terms, true, amount->key, amount->value, out);
    api_list_foreach (claim, &compute->claims)
        kb_strbuf_printf(out, "  claim %s, request %s\n", claim->name, claim->request ? claim->request : "");
    print_others(&pod->spec.containers, "container", out);
    print_others(&pod->spec.init_containers, "init container", out);
    return 0;
}
