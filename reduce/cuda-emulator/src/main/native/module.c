/* Modules: PTX text, whose kernels interpret.c runs. */
#include "ptx.h"

#include <ctype.h>

typedef struct Function Function;

typedef struct Module {
    Object object;
    Context *context;
    const Program *program;
    Function *functions;
    struct Module *next;
} Module;

struct Function {
    Object object;
    Module *module;
    const Kernel *kernel;
    Function *next;
};

static Module *modules;

/* ---- Modules ---- */

static CUresult load_module(Handle *handle, const char *image) {
    Context *context;
    CUresult code = current(&context);
    if (code) return code;
    if (!handle || !image) return INVALID_VALUE;
    code = wait_for_coupled(context);
    if (code) return code;
    if (!isspace((unsigned char)*image) && *image != '.' && *image != '/') {
        problem("a module that is no PTX text");
        return INVALID_IMAGE;
    }
    const Program *program;
    code = read_program(image, &program);
    if (code) return code;
    if (program->target > 10 * context->device->major + context->device->minor) return NO_BINARY_FOR_GPU;
    Module *module = calloc(1, sizeof *module);
    module->context = context;
    module->program = program;
    module->next = modules;
    modules = module;
    add_object(&module->object, MODULE);
    *handle = module->object.handle;
    return OK;
}

API CUresult cuModuleLoadData(Handle *module, const char *image) {
    ENTER();
    LEAVE(load_module(module, image));
}

API CUresult cuModuleLoadDataEx(Handle *module, const char *image, unsigned options, int *option, void **values) {
    ENTER();
    (void)options, (void)option, (void)values; /* for the compiler of PTX */
    LEAVE(load_module(module, image));
}

void free_module(Object *object) {
    Module *module = (Module *)object;
    while (module->functions) {
        Function *function = module->functions;
        module->functions = function->next;
        remove_object(&function->object);
        free(function);
    }
    for (Module **place = &modules; *place; place = &(*place)->next) {
        if (*place != module) continue;
        *place = module->next;
        break;
    }
    free(module);
}

void free_modules(const Context *context) {
    for (Module *module = modules, *next; module; module = next) {
        next = module->next;
        if (module->context == context) free_object(&module->object);
    }
}

API CUresult cuModuleUnload(Handle handle) {
    ENTER();
    Module *module = find_object(handle, MODULE);
    CHECK(module, INVALID_HANDLE);
    free_object(&module->object);
    LEAVE(OK);
}

API CUresult cuModuleGetFunction(Handle *handle, Handle module_handle, const char *name) {
    ENTER();
    Module *module = find_object(module_handle, MODULE);
    CHECK(module, INVALID_HANDLE);
    CHECK(handle && name, INVALID_VALUE);
    TRY(usable(module->context));
    for (Function *function = module->functions; function; function = function->next) {
        if (strcmp(function->kernel->name, name)) continue;
        *handle = function->object.handle;
        LEAVE(OK);
    }
    for (int k = 0; k < module->program->count; k++) {
        if (strcmp(module->program->kernels[k].name, name)) continue;
        Function *function = calloc(1, sizeof *function);
        function->module = module;
        function->kernel = &module->program->kernels[k];
        function->next = module->functions;
        module->functions = function;
        add_object(&function->object, FUNCTION);
        *handle = function->object.handle;
        LEAVE(OK);
    }
    LEAVE(NOT_FOUND);
}

API CUresult cuModuleGetLoadingMode(int *mode) {
    ENTER();
    CHECK(mode, INVALID_VALUE);
    *mode = 2; /* lazy */
    LEAVE(OK);
}

API CUresult cuFuncGetModule(Handle *module, Handle handle) {
    ENTER();
    Function *function = find_object(handle, FUNCTION);
    CHECK(function, INVALID_HANDLE);
    CHECK(module, INVALID_VALUE);
    *module = function->module->object.handle;
    LEAVE(OK);
}

API CUresult cuFuncGetAttribute(int *value, int which, Handle handle) {
    ENTER();
    const Function *function = find_object(handle, FUNCTION);
    CHECK(function, INVALID_HANDLE);
    CHECK(value && which >= 0 && which < 16, INVALID_VALUE);
    const Kernel *kernel = function->kernel;
    switch (which) {
        case 0: *value = (int)kernel->most_threads; break;
        case 1: *value = kernel->shared_bytes; break;
        case 4: *value = registers_of(kernel, function->module->context->device); break;
        case 5: *value = function->module->program->version; break;
        case 6: *value = function->module->program->target; break;
        case 8: *value = most_shared_bytes(function->module->context->device) - kernel->shared_bytes; break;
        default: *value = 0;
    }
    LEAVE(OK);
}

/* ---- Launches ---- */

static int fits(const unsigned *shape, unsigned long long most_threads) {
    static const unsigned most[] = {0x7fffffff, 65535, 65535, 1024, 1024, 64};
    for (int i = 0; i < 6; i++) {
        if (!shape[i] || shape[i] > most[i]) return 0;
    }
    return (unsigned long long)shape[3] * shape[4] * shape[5] <= most_threads;
}

CUresult make_launch(Handle handle, const unsigned *shape, unsigned shared_bytes, void **parameters, void **extra,
                     Work *work) {
    Function *function = find_object(handle, FUNCTION);
    if (!function) return INVALID_HANDLE;
    const Kernel *kernel = function->kernel;
    if (!fits(shape, kernel->most_threads)) return INVALID_VALUE;
    unsigned threads = shape[3] * shape[4] * shape[5];
    const Device *device = function->module->context->device;
    if ((unsigned long long)kernel->shared_bytes + shared_bytes > (unsigned)most_shared_bytes(device)) return INVALID_VALUE;
    if (!blocks_of_multiprocessor(kernel, device, threads, shared_bytes)) return LAUNCH_OUT_OF_RESOURCES;
    work->kind = KERNEL;
    work->context = function->module->context;
    Launch *launch = &work->launch;
    launch->kernel = kernel;
    launch->parameter_bytes = (size_t)kernel->parameter_bytes;
    launch->shared_bytes = shared_bytes;
    memcpy(launch->grid, shape, sizeof launch->grid);
    memcpy(launch->block, shape + 3, sizeof launch->block);
    if (!kernel->parameter_count) return OK;
    if (!parameters == !extra) return INVALID_VALUE;
    const unsigned char *packed = NULL;
    for (; extra && *extra; extra += 2) {
        if (*extra == (void *)1) packed = extra[1]; /* the others are its size, and the end */
    }
    if (!parameters && !packed) return INVALID_VALUE;
    for (int p = 0; p < kernel->parameter_count; p++) {
        const Parameter *parameter = &kernel->parameters[p];
        memcpy(launch->parameters + parameter->offset, packed ? packed + parameter->offset : parameters[p],
               (size_t)parameter->bytes);
    }
    return OK;
}

API CUresult cuLaunchKernel(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, Handle stream_handle,
                            void **parameters, void **extra) {
    ENTER();
    Stream *stream;
    TRY(stream_of(stream_handle, &stream));
    unsigned shape[] = {grid_x, grid_y, grid_z, block_x, block_y, block_z};
    Work work;
    TRY(make_launch(function, shape, shared_bytes, parameters, extra, &work));
    CHECK(work.context == stream->context, INVALID_HANDLE);
    Op *op;
    TRY(submit(stream, &work, &op));
    CUresult result = op && emu.launches_block ? wait_for(op) : OK;
    drop(op);
    LEAVE(result);
}

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Handle handle, int threads, size_t shared_bytes) {
    ENTER();
    const Function *function = find_object(handle, FUNCTION);
    CHECK(function, INVALID_HANDLE);
    const Device *device = function->module->context->device;
    CHECK(blocks && threads > 0 && shared_bytes <= (size_t)most_shared_bytes(device), INVALID_VALUE);
    *blocks = blocks_of_multiprocessor(function->kernel, device, (unsigned)threads, (unsigned)shared_bytes);
    LEAVE(OK);
}
