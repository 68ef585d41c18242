/* Modules: the entries of PTX text, whose names say which kernels of kernels.c they are. */
#include "emulator.h"

#include <ctype.h>

enum { MOST_ENTRIES = 1024, MOST_PARAMETERS = 40, NEWEST_PTX = 85 }; /* of the drivers for CUDA 12.6 */

typedef struct {
    char name[64];
    int parameters;
    unsigned char sizes[MOST_PARAMETERS];
} Entry;

typedef struct Function Function;

typedef struct Module {
    Object object;
    Context *context;
    Entry *entries;
    int entry_count;
    Function *functions;
    struct Module *next;
} Module;

struct Function {
    Object object;
    Module *module;
    KernelCode code;
    Function *next;
};

static Module *modules;

/* ---- PTX ---- */

/* A copy without comments. */
static char *without_comments(const char *text) {
    char *clean = malloc(strlen(text) + 1), *to = clean;
    while (*text) {
        if (text[0] == '/' && text[1] == '/') {
            text += strcspn(text, "\n");
        } else if (text[0] == '/' && text[1] == '*') {
            const char *end = strstr(text + 2, "*/");
            text = end ? end + 2 : text + strlen(text);
            *to++ = ' ';
        } else {
            *to++ = *text++;
        }
    }
    *to = 0;
    return clean;
}

/* The bytes of ".param .u64 name" or ".param .align 8 .b8 name[16]"; 0 if it is neither. */
static int parameter_bytes(const char *text) {
    static const struct { const char *name; int bytes; } sizes[] = {
        {".u64", 8}, {".b64", 8}, {".s64", 8}, {".f64", 8}, {".u32", 4}, {".b32", 4}, {".s32", 4}, {".f32", 4},
        {".u16", 2}, {".b16", 2}, {".s16", 2}, {".u8", 1}, {".b8", 1}, {".s8", 1}};
    if (!strstr(text, ".param")) return 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (!strstr(text, sizes[i].name)) continue;
        const char *bracket = strchr(text, '[');
        return sizes[i].bytes * (bracket ? atoi(bracket + 1) : 1);
    }
    return 0;
}

/* What follows ".entry"; 0 if it cannot be read. */
static int read_entry(const char *text, Entry *entry) {
    int skip = 0;
    memset(entry, 0, sizeof *entry);
    if (sscanf(text, " %63[A-Za-z0-9_$] %n", entry->name, &skip) != 1) return 0;
    text += skip;
    if (*text != '(') return 1;
    const char *end = strchr(text, ')');
    if (!end) return 0;
    for (text++; text < end;) {
        char one[256];
        size_t length = strcspn(text, ",)");
        snprintf(one, sizeof one, "%.*s", (int)length, text);
        text += length + 1;
        if (one[strspn(one, " \t\r\n")] == 0) continue;
        int bytes = parameter_bytes(one);
        if (!bytes || bytes > PARAMETER_BYTES || entry->parameters == MOST_PARAMETERS) return 0;
        entry->sizes[entry->parameters++] = (unsigned char)bytes;
    }
    return 1;
}

static CUresult read_ptx(const char *text, const Device *device, Module *module) {
    int major, minor, target, depth = 0;
    const char *version = strstr(text, ".version"), *architecture = strstr(text, ".target");
    if (!version || !architecture || sscanf(version, ".version %d.%d", &major, &minor) != 2
        || sscanf(architecture, ".target sm_%d", &target) != 1) {
        problem("PTX without .version or .target");
        return INVALID_PTX;
    }
    for (const char *c = text; *c && depth >= 0; c++) depth += (*c == '{') - (*c == '}');
    if (depth) {
        problem("PTX whose braces do not match");
        return INVALID_PTX;
    }
    if (10 * major + minor > NEWEST_PTX) return UNSUPPORTED_PTX_VERSION;
    if (target > 10 * device->major + device->minor) return NO_BINARY_FOR_GPU;
    module->entries = calloc(MOST_ENTRIES, sizeof *module->entries);
    for (const char *at = strstr(text, ".entry"); at; at = strstr(at, ".entry")) {
        at += strlen(".entry");
        if (module->entry_count == MOST_ENTRIES || !read_entry(at, &module->entries[module->entry_count++])) {
            problem("PTX with an entry that cannot be read");
            return INVALID_PTX;
        }
    }
    return OK;
}

/* ---- Modules ---- */

static CUresult load(Handle *handle, const char *image) {
    Context *context;
    CUresult code = current(&context);
    if (code) return code;
    if (!handle || !image) return INVALID_VALUE;
    if (!isspace((unsigned char)*image) && *image != '.' && *image != '/') {
        problem("a module that is no PTX text");
        return INVALID_IMAGE;
    }
    Module *module = calloc(1, sizeof *module);
    module->context = context;
    char *text = without_comments(image);
    code = read_ptx(text, context->device, module);
    free(text);
    if (code) {
        free(module->entries);
        free(module);
        return code;
    }
    module->next = modules;
    modules = module;
    add_object(&module->object, MODULE);
    *handle = module->object.handle;
    return OK;
}

API CUresult cuModuleLoadData(Handle *module, const char *image) {
    ENTER();
    LEAVE(load(module, image));
}

API CUresult cuModuleLoadDataEx(Handle *module, const char *image, unsigned options, int *option, void **values) {
    ENTER();
    (void)options, (void)option, (void)values; /* for the compiler of PTX */
    LEAVE(load(module, image));
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
    free(module->entries);
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

static CUresult function_of(Module *module, const Entry *entry, Handle *handle) {
    KernelCode code;
    if (!kernel_named(entry->name, &code)) {
        problem("the emulator does not know a kernel %s; see KERNELS.md", entry->name);
        return INVALID_IMAGE;
    }
    if (entry->parameters != code.parameters || memcmp(entry->sizes, code.sizes, (size_t)code.parameters)) {
        problem("the parameters of %s are not those of KERNELS.md", entry->name);
        return INVALID_IMAGE;
    }
    Function *function = calloc(1, sizeof *function);
    function->module = module;
    function->code = code;
    function->next = module->functions;
    module->functions = function;
    add_object(&function->object, FUNCTION);
    *handle = function->object.handle;
    return OK;
}

API CUresult cuModuleGetFunction(Handle *handle, Handle module_handle, const char *name) {
    ENTER();
    Module *module = find_object(module_handle, MODULE);
    CHECK(module, INVALID_HANDLE);
    CHECK(handle && name, INVALID_VALUE);
    TRY(usable(module->context));
    for (Function *function = module->functions; function; function = function->next) {
        if (strcmp(function->code.name, name)) continue;
        *handle = function->object.handle;
        LEAVE(OK);
    }
    for (int e = 0; e < module->entry_count; e++) {
        if (!strcmp(module->entries[e].name, name)) LEAVE(function_of(module, &module->entries[e], handle));
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
    CHECK(find_object(handle, FUNCTION), INVALID_HANDLE);
    CHECK(value && which >= 0 && which < 16, INVALID_VALUE);
    *value = which == 0 ? 1024 : which == 4 ? 32 : 0; /* threads of a block, registers */
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

CUresult make_launch(Handle handle, const unsigned *shape, void **parameters, void **extra, Work *work) {
    Function *function = find_object(handle, FUNCTION);
    if (!function) return INVALID_HANDLE;
    if (!fits(shape, 1024) || !parameters == !extra) return INVALID_VALUE;
    const KernelCode *code = &function->code;
    *work = (Work){.kind = KERNEL, .context = function->module->context};
    work->launch.code = *code;
    const unsigned char *packed = NULL;
    for (; extra && *extra; extra += 2) {
        if (*extra == (void *)1) packed = extra[1]; /* the others are its size, and the end */
    }
    if (!parameters && !packed) return INVALID_VALUE;
    size_t to = 0;
    for (int p = 0; p < code->parameters; p++) {
        size_t bytes = code->sizes[p];
        to = (to + bytes - 1) / bytes * bytes;
        memcpy(work->launch.parameters + to, packed ? packed + to : parameters[p], bytes);
        to += bytes;
    }
    return OK;
}

API CUresult cuLaunchKernel(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, Handle stream_handle,
                            void **parameters, void **extra) {
    ENTER();
    Stream *stream;
    TRY(stream_of(stream_handle, &stream));
    CHECK(shared_bytes <= 98304, INVALID_VALUE);
    unsigned shape[] = {grid_x, grid_y, grid_z, block_x, block_y, block_z};
    Work work;
    TRY(make_launch(function, shape, parameters, extra, &work));
    CHECK(work.context == stream->context, INVALID_HANDLE);
    LEAVE(submit(stream, &work, NULL));
}

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Handle handle, int block, size_t shared_bytes) {
    ENTER();
    CHECK(find_object(handle, FUNCTION), INVALID_HANDLE);
    CHECK(blocks && block > 0 && shared_bytes <= 98304, INVALID_VALUE);
    *blocks = block > 1024 ? 0 : 2048 / block > 32 ? 32 : 2048 / block;
    LEAVE(OK);
}
