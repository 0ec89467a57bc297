/* The model itself: metadata, operator sets, functions, and the order in which its parts are built. */
#include "model/build.h"

#include <string.h>

static ln_status build_opsets(ln_builder *builder, size_t count, Onnx__OperatorSetIdProto *const *protos,
                              ln_opset **opsets, int32_t *n_opsets) {
    ln_opset *const list = ln_arena_array(builder->arena, count, sizeof(*list));
    if (list == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        list[i].domain = ln_build_text(builder, ln_build_domain(protos[i]->domain));
        list[i].version = protos[i]->version;
        if (list[i].domain == NULL) {
            return LN_OUT_OF_MEMORY;
        }
    }
    *opsets = list;
    *n_opsets = (int32_t)count;
    return LN_OK;
}

/* Models of IR versions 1 and 2 import no operator set: they use the first one. */
static ln_status build_model_opsets(ln_builder *builder, const Onnx__ModelProto *proto) {
    ln_model *const model = builder->model;
    if (proto->n_opset_import > 0) {
        return build_opsets(builder, proto->n_opset_import, proto->opset_import, &model->opsets,
                            &model->n_opsets);
    }
    LN_CHECK(builder->context, model->ir_version < 3, INVALID_MODEL, "the model imports no operator set");
    model->opsets = ln_arena_alloc(builder->arena, sizeof(*model->opsets));
    if (model->opsets == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    model->opsets[0] = (ln_opset){"", 1};
    model->n_opsets = 1;
    return LN_OK;
}

static ln_status build_metadata(ln_builder *builder, const Onnx__ModelProto *proto) {
    ln_model *const model = builder->model;
    model->ir_version = proto->ir_version;
    model->model_version = proto->model_version;
    model->producer_name = ln_build_text(builder, proto->producer_name);
    model->producer_version = ln_build_text(builder, proto->producer_version);
    model->domain = ln_build_text(builder, proto->domain);
    model->doc_string = ln_build_text(builder, proto->doc_string);
    model->n_training_infos = builder->reader->training_infos;
    ln_pair *const pairs = ln_arena_array(builder->arena, proto->n_metadata_props, sizeof(*pairs));
    if (model->producer_name == NULL || model->producer_version == NULL || model->domain == NULL ||
        model->doc_string == NULL || pairs == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < proto->n_metadata_props; i++) {
        pairs[i].key = ln_build_text(builder, proto->metadata_props[i]->key);
        pairs[i].value = ln_build_text(builder, proto->metadata_props[i]->value);
        if (pairs[i].key == NULL || pairs[i].value == NULL) {
            return LN_OUT_OF_MEMORY;
        }
    }
    model->metadata = pairs;
    model->n_metadata = (int32_t)proto->n_metadata_props;
    return LN_OK;
}

static ln_status build_names(ln_builder *builder, size_t count, char *const *names, const char ***list,
                             int32_t *length) {
    const char **const copies = ln_arena_array(builder->arena, count, sizeof(*copies));
    for (size_t i = 0; copies != NULL && i < count; i++) {
        copies[i] = ln_build_text(builder, names[i]);
        if (copies[i] == NULL) {
            return LN_OUT_OF_MEMORY;
        }
    }
    *list = copies;
    *length = (int32_t)count;
    return copies != NULL ? LN_OK : LN_OUT_OF_MEMORY;
}

static ln_status build_function(ln_builder *builder, const Onnx__FunctionProto *proto,
                                ln_function *function) {
    ln_model *const model = builder->model;
    ln_opset *opsets = NULL;
    function->domain = ln_build_text(builder, ln_build_domain(proto->domain));
    function->name = ln_build_text(builder, proto->name);
    function->overload = ln_build_text(builder, proto->overload);
    function->body = ln_graph_new(model, NULL);
    if (function->domain == NULL || function->name == NULL || function->overload == NULL ||
        function->body == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    function->body->name = function->name;
    LN_CHECK(builder->context, function->name[0] != '\0', INVALID_MODEL, "a function has no name");
    LN_TRY(build_names(builder, proto->n_input, proto->input, &function->inputs, &function->n_inputs));
    LN_TRY(build_names(builder, proto->n_output, proto->output, &function->outputs, &function->n_outputs));
    LN_TRY(build_names(builder, proto->n_attribute, proto->attribute, &function->attribute_names,
                       &function->n_attribute_names));
    LN_TRY(build_opsets(builder, proto->n_opset_import, proto->opset_import, &opsets, &function->n_opsets));
    function->opsets = opsets;
    /* Graphs in defaults see no names of the body: their scope is an empty one, which outlives this
     * function. */
    ln_graph_task *const task = ln_arena_alloc(builder->scratch, sizeof(*task));
    if (task == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    const bool own_opsets = function->n_opsets > 0;
    task->graph = function->body;
    task->function = proto;
    task->opsets = own_opsets ? opsets : model->opsets;
    task->n_opsets = own_opsets ? function->n_opsets : model->n_opsets;
    LN_TRY(ln_scope_init(&task->scope, builder->scratch, NULL, 0));
    LN_TRY(ln_build_attributes(builder, task, function->body, proto->n_attribute_proto,
                               proto->attribute_proto, &function->defaults));
    function->n_defaults = (int32_t)proto->n_attribute_proto;
    return ln_build_later(builder, task);
}

static ln_status build_parts(ln_builder *builder, const Onnx__ModelProto *proto) {
    ln_model *const model = builder->model;
    LN_CHECK(builder->context, proto->graph != NULL, INVALID_MODEL,
             "the file holds no graph: it is not an ONNX model");
    LN_TRY(build_metadata(builder, proto));
    LN_TRY(build_model_opsets(builder, proto));
    model->functions = ln_arena_array(builder->arena, proto->n_functions, sizeof(*model->functions));
    model->graph = ln_graph_new(model, NULL);
    if (model->functions == NULL || model->graph == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    const ln_graph_task main_task = {
        .graph = model->graph, .proto = proto->graph, .opsets = model->opsets, .n_opsets = model->n_opsets};
    LN_TRY(ln_build_later(builder, &main_task));
    for (size_t i = 0; i < proto->n_functions; i++) {
        LN_TRY(build_function(builder, proto->functions[i], &model->functions[i]));
        model->n_functions++;
    }
    return ln_build_graphs(builder);
}

ln_status ln_build_model(ln_reader *reader, const Onnx__ModelProto *proto) {
    ln_builder builder = {.reader = reader,
                          .context = reader->context,
                          .model = reader->model,
                          .arena = &reader->model->arena,
                          .scratch = &reader->decoded};
    const ln_status status = build_parts(&builder, proto);
    /* A part that ran out of memory says so by a bare status; the allocator has recorded why. */
    return status == LN_OK ? LN_OK : ln_fail(reader->context, status, "the model cannot be built");
}
