/*
 * Requests and limits as two layers of amounts, see resources_internal.h.
 */
#include "base/strings.h"
#include "virt/launcher/resources_internal.h"

static struct launcher_amount *find(const struct launcher_amounts *amounts, const char *name)
{
    for (size_t i = 0; i < amounts->n; i++)
        if (kb_streq(amounts->items[i].name, name))
            return &amounts->items[i];
    return NULL;
}

const struct launcher_amount *launcher_sums_find(const struct launcher_sums *sums, enum launcher_layer layer,
                                                 enum launcher_side side, const char *name)
{
    return find(&sums->amounts[layer][side], name);
}

struct kb_quantity launcher_sums_value(const struct launcher_sums *sums, enum launcher_side side, const char *name)
{
    const struct launcher_amount *amount = find(&sums->amounts[LAUNCHER_VMI][side], name);

    return amount ? amount->quantity : (struct kb_quantity){0};
}

static void note(struct launcher_sums *sums, enum launcher_layer layer, enum launcher_side side, const char *name,
                 struct kb_quantity quantity, const char *rule)
{
    if (!sums->trace)
        return;
    *kb_vec_push(sums->arena, sums->trace) = (struct launcher_noted_term){
        .layer = layer,
        .term = {.resource = name,
                 .limit = side == LAUNCHER_LIMIT,
                 .rule = rule,
                 .quantity = kb_quantity_text(sums->arena, quantity)},
    };
}

/* Appends; the order comes with the result. */
static struct launcher_amount *find_or_add(struct launcher_sums *sums, enum launcher_layer layer,
                                           enum launcher_side side, const char *name)
{
    struct launcher_amounts *amounts = &sums->amounts[layer][side];
    struct launcher_amount *amount = find(amounts, name);

    if (!amount) {
        amount = kb_vec_push(sums->arena, amounts);
        amount->name = name;
    }
    return amount;
}

void launcher_sums_set(struct launcher_sums *sums, enum launcher_layer layer, enum launcher_side side, const char *name,
                       struct kb_quantity quantity, const char *text, const char *rule)
{
    struct launcher_amount *amount = find_or_add(sums, layer, side, name);
    struct kb_quantity change = quantity;

    if (!kb_quantity_is_zero(amount->quantity))
        change = kb_quantity_sub(quantity, amount->quantity);
    if (!kb_quantity_is_zero(change))
        note(sums, layer, side, name, change, rule);
    amount->quantity = quantity;
    amount->text = text;
    amount->reference = text && kb_quantity_is_by_reference(text) ? ++sums->n_references : 0;
}

void launcher_sums_copy(struct launcher_sums *sums, enum launcher_layer layer, enum launcher_side side,
                        const char *name, const struct launcher_amount *from, const char *rule)
{
    const struct launcher_amount source = *from; /* it may move */

    launcher_sums_set(sums, layer, side, name, source.quantity, source.text, rule);
    find_or_add(sums, layer, side, name)->reference = source.reference;
}

static void add_to_all_of(struct launcher_sums *sums, unsigned reference, struct kb_quantity quantity, const char *rule)
{
    for (int layer = 0; layer < LAUNCHER_N_LAYERS; layer++)
        for (int side = 0; side < LAUNCHER_N_SIDES; side++)
            api_list_foreach (amount, &sums->amounts[layer][side]) {
                if (amount->reference != reference)
                    continue;
                note(sums, (enum launcher_layer)layer, (enum launcher_side)side, amount->name, quantity, rule);
                amount->quantity = kb_quantity_add(amount->quantity, quantity);
                amount->text = NULL;
            }
}

void launcher_sums_add(struct launcher_sums *sums, enum launcher_layer layer, enum launcher_side side, const char *name,
                       struct kb_quantity quantity, const char *rule)
{
    struct launcher_amount *amount = find_or_add(sums, layer, side, name);

    if (amount->reference) {
        add_to_all_of(sums, amount->reference, quantity, rule);
        return;
    }
    note(sums, layer, side, name, quantity, rule);
    amount->quantity = kb_quantity_add(amount->quantity, quantity);
    amount->text = NULL;
}

void launcher_sums_add_device(struct launcher_sums *sums, const char *name, const char *rule)
{
    const struct kb_quantity one = kb_quantity_from(1, KB_QUANTITY_DECIMAL_SI);

    for (int side = 0; side < LAUNCHER_N_SIDES; side++) {
        const struct launcher_amount *own = find(&sums->amounts[LAUNCHER_VMI][side], name);

        if (!own || own->reference)
            launcher_sums_add(sums, own ? LAUNCHER_VMI : LAUNCHER_CALCULATED, (enum launcher_side)side, name, one,
                              rule);
    }
}

struct api_string_map launcher_sums_result(const struct launcher_sums *sums, enum launcher_side side)
{
    static const enum launcher_layer layers[] = {LAUNCHER_CALCULATED, LAUNCHER_VMI}; /* the later wins */
    struct api_string_map result = {0};

    for (size_t i = 0; i < KB_ARRAY_LEN(layers); i++)
        api_list_foreach (amount, &sums->amounts[layers[i]][side])
            api_map_set(sums->arena, &result, amount->name,
                        amount->text ? amount->text : kb_quantity_text(sums->arena, amount->quantity));
    return result;
}
