/* Packs weights once, at load, and drops the originals.
 *
 * The packed form goes to where the original was when it fits there, so that loading needs no more memory than the
 * weights and the largest of them. A weight that several nodes read in the same way is packed once.
 */
#include <string.h>

#include "compile/compile.h"
#include "compile/evaluate.h"

/* A packed weight and what made it, so that a tied weight finds it again. */
typedef struct ln_pack ln_pack;
struct ln_pack {
    ln_pack *next;
    const ln_node *node; /* the node it was made for */
    void *block;
    uint32_t consumed;
};

enum { SLOTS = 16 };

static bool same_attributes(const ln_node *a, const ln_node *b);

/* Earlier pack that serves this node too: the same row, constants and attributes. */
static const ln_pack *find_twin(const ln_program *program, const ln_node *node) {
    for (const ln_pack *pack = program->packs; pack; pack = pack->next) {
        const ln_node *other = pack->node;
        if (other->row != node->row || other->n_inputs != node->n_inputs || !same_attributes(other, node)) {
            continue;
        }
        bool same = true;
        for (int32_t i = 0; i < node->n_inputs && same; ++i) {
            const bool constant = ln_node_constant(node, i) || ln_node_constant(other, i);
            same = !constant || node->inputs[i] == other->inputs[i];
        }
        if (same) {
            return pack;
        }
    }
    return NULL;
}

static bool same_attributes(const ln_node *a, const ln_node *b) {
    if (a->attributes == b->attributes && a->n_attributes == b->n_attributes) {
        return true;
    }
    if (a->n_attributes != b->n_attributes) {
        return false;
    }
    for (int32_t i = 0; i < a->n_attributes; ++i) {
        const ln_attribute *x = &a->attributes[i];
        const ln_attribute *y = ln_node_attribute(b, x->name);
        if (!y || y->type != x->type || y->count != x->count) {
            return false;
        }
        size_t size = 0;
        switch (x->type) {
        case LN_ATTRIBUTE_FLOAT:
        case LN_ATTRIBUTE_FLOATS:
            size = sizeof(float);
            break;
        case LN_ATTRIBUTE_INT:
        case LN_ATTRIBUTE_INTS:
            size = sizeof(int64_t);
            break;
        case LN_ATTRIBUTE_STRING:
        case LN_ATTRIBUTE_STRINGS:
            for (int32_t j = 0; j < x->count; ++j) {
                if (ln_string_compare(&x->as.strings[j], &y->as.strings[j]) != 0) {
                    return false;
                }
            }
            continue;
        default:
            return false;
        }
        if (memcmp(x->as.ints, y->as.ints, size * (size_t)x->count) != 0) {
            return false;
        }
    }
    return true;
}

/* One reader fewer; the last one frees the bytes. */
static void *give_up(ln_node *node, int index, bool keep) {
    ln_value_info *info = ln_info(node->graph->model, node->inputs[index]);
    if (--info->uses > 0 || info->is_graph_output || !info->constant) {
        return NULL;
    }
    if (info->constant_block && keep) {
        void *bytes = info->constant->data;
        info->constant->data = NULL;
        info->constant_block = false;
        return bytes;
    }
    ln_model_drop_constant(node->graph->model, node->inputs[index]);
    return NULL;
}

/* Frees the originals that are not read any more, and moves the packed block into the first that can hold it. */
static void *settle(ln_node *node, void *packed, uint32_t consumed) {
    ln_context *context = node->graph->model->context;
    for (int i = 0; i < node->n_inputs; ++i) {
        if (!(consumed & (1U << i)) || !node->inputs[i]) {
            continue;
        }
        void *original = give_up(node, i, true);
        if (!original) {
            continue;
        }
        const size_t bytes = ln_alloc_capacity(packed);
        const size_t room = ln_alloc_capacity(original);
        if (room >= bytes && room - bytes <= room / 8) {
            memcpy(original, packed, bytes);
            ln_free(context, packed);
            packed = original;
        } else {
            ln_free(context, original);
        }
    }
    return packed;
}

static ln_status pack_node(ln_program *program, ln_node *node) {
    const ln_pack *twin = find_twin(program, node);
    if (twin) {
        node->packed = twin->block;
        for (int i = 0; i < node->n_inputs; ++i) {
            if (twin->consumed & (1U << i)) {
                give_up(node, i, false);
            }
        }
        return LN_OK;
    }
    ln_model *model = node->graph->model;
    ln_value *inputs[SLOTS];
    for (int i = 0; i < node->n_inputs; ++i) {
        inputs[i] = node->inputs[i] ? ln_info(model, node->inputs[i])->constant : NULL;
    }
    _Alignas(16) unsigned char local[LN_LOCAL_BYTES];
    ln_op op;
    ln_op_prepare(&op, program->context, node, inputs, NULL, local);
    op.n_outputs = 0;
    const ln_status status = node->row->pack(&op);
    if (status != LN_OK) {
        ln_error_locate(program->context, node->name, node->op_type, node->opset);
        return status;
    }
    if (!op.packed) {
        return LN_OK;
    }
    ln_pack *pack = ln_arena_alloc(&model->arena, sizeof *pack);
    if (!pack) {
        ln_free(program->context, op.packed);
        return LN_OUT_OF_MEMORY;
    }
    /* A twin that comes later must still find the constants' numbers, which stay; only their bytes go. */
    *pack = (ln_pack){program->packs, node, settle(node, op.packed, op.consumed), op.consumed};
    node->packed = pack->block;
    program->packs = pack;
    return LN_OK;
}

static ln_status pack_graph(ln_graph *graph, void *argument) {
    ln_program *program = argument;
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        if (node->row->pack && node->n_inputs <= SLOTS) {
            LN_TRY(pack_node(program, node));
        }
    }
    return LN_OK;
}

/* What rewrites have left without a reader: constants that others were folded from. */
static void drop_unread(ln_model *model) {
    for (ln_value_id id = 1; id < model->n_values; ++id) {
        const ln_value_info *info = ln_info(model, id);
        if (info->uses == 0 && !info->is_graph_output) {
            ln_model_drop_constant(model, id);
        }
    }
}

ln_status ln_pack_weights(ln_program *program) {
    drop_unread(program->model);
    return ln_model_each_graph(program->model, pack_graph, program);
}

int ln_packed_weights(const ln_program *program, size_t *bytes) {
    int count = 0;
    *bytes = 0;
    for (const ln_pack *pack = program->packs; pack; pack = pack->next, ++count) {
        *bytes += ln_alloc_capacity(pack->block);
    }
    return count;
}

void ln_program_free(ln_program *program) {
    for (ln_pack *pack = program->packs; pack; pack = pack->next) {
        ln_free(program->context, pack->block);
    }
    program->packs = NULL;
    ln_text_free(&program->warnings);
}
