/* Contexts: primary ones, others, the stack of each thread, and peer access. */
#include "emulator.h"

enum { STACK = 32, MOST_PEERS = 8 };

static unsigned generation; /* of contexts; a reset begins a new one */

static __thread struct {
    unsigned generation;
    int depth;
    Context *context[STACK];
} stack;

static Context **top(void) {
    if (stack.generation != generation) {
        stack.generation = generation;
        stack.depth = 0;
    }
    return stack.depth ? &stack.context[stack.depth - 1] : NULL;
}

int stack_depth(void) {
    top();
    return stack.depth;
}

CUresult usable(const Context *context) {
    if (context->destroyed) return CONTEXT_IS_DESTROYED;
    const Device *device = context->device;
    return device->lost ? device->lost : device->broken ? device->broken : context->sticky;
}

CUresult current(Context **context) {
    Context **place = top();
    if (!place || !*place) return INVALID_CONTEXT;
    *context = *place;
    return usable(*context);
}

CUresult context_of(Handle handle, Context **context) {
    if (!handle) return current(context);
    *context = find_object(handle, CONTEXT);
    return *context ? usable(*context) : INVALID_CONTEXT;
}

int may_access(const Context *context, const Context *owner) {
    if (context->index == owner->index) return 1;
    for (int p = 0; p < context->peer_count; p++) {
        if (context->peers[p] == owner) return 1;
    }
    return 0;
}

static Context *new_context(int index, unsigned flags) {
    Context *context = calloc(1, sizeof *context);
    context->device = &emu.device[index];
    context->index = index;
    context->flags = flags;
    context->standard = calloc(1, sizeof *context->standard);
    context->standard->context = context;
    context->next = emu.contexts;
    emu.contexts = context;
    add_object(&context->object, CONTEXT);
    return context;
}

/* Waits for its work, and frees what belongs to it. The structure stays, since work of others may name it. */
static void end_context(Context *context) {
    wait_for_context(context);
    context->destroyed = 1;
    while (context->streams) free_object(&context->streams->object);
    release_memory(context);
    free_modules(context);
    for (Context *other = emu.contexts; other; other = other->next) {
        for (int p = 0; p < other->peer_count; p++) {
            if (other->peers[p] == context) other->peers[p--] = other->peers[--other->peer_count];
        }
    }
    if (context->device->primary == context) {
        context->device->primary = NULL;
        context->device->retained = 0;
    }
    remove_object(&context->object);
}

void reset_contexts(void) {
    while (emu.contexts) {
        Context *context = emu.contexts;
        emu.contexts = context->next;
        drop(context->standard->last);
        free(context->standard);
        free(context);
    }
    generation++;
}

/* ---- Primary contexts ---- */

#define DEVICE(device, number) \
    CHECK((number) >= 0 && (number) < emu.devices, INVALID_DEVICE); \
    Device *device = &emu.device[number]

static CUresult usable_device(const Device *device) { return device->lost ? device->lost : device->broken; }

API CUresult cuDevicePrimaryCtxRetain(Handle *handle, CUdevice number) {
    ENTER();
    DEVICE(device, number);
    CHECK(handle, INVALID_VALUE);
    TRY(usable_device(device));
    if (!device->primary) device->primary = new_context(number, device->primary_flags);
    device->retained++;
    *handle = device->primary->object.handle;
    LEAVE(OK);
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice number) {
    ENTER();
    DEVICE(device, number);
    CHECK(device->primary, INVALID_CONTEXT);
    if (!--device->retained) end_context(device->primary);
    LEAVE(OK);
}

API CUresult cuDevicePrimaryCtxReset_v2(CUdevice number) {
    ENTER();
    DEVICE(device, number);
    if (device->primary) end_context(device->primary);
    LEAVE(OK);
}

API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice number, unsigned flags) {
    ENTER();
    DEVICE(device, number);
    device->primary_flags = flags;
    if (device->primary) device->primary->flags = flags;
    LEAVE(OK);
}

API CUresult cuDevicePrimaryCtxGetState(CUdevice number, unsigned *flags, int *active) {
    ENTER();
    DEVICE(device, number);
    CHECK(flags && active, INVALID_VALUE);
    *flags = device->primary_flags;
    *active = device->primary != NULL;
    LEAVE(OK);
}

/* ---- Others ---- */

static CUresult push_context(Context *context) {
    top();
    if (stack.depth == STACK) return OUT_OF_MEMORY;
    stack.context[stack.depth++] = context;
    return OK;
}

API CUresult cuCtxCreate_v2(Handle *handle, unsigned flags, CUdevice number) {
    ENTER();
    DEVICE(device, number);
    CHECK(handle, INVALID_VALUE);
    TRY(usable_device(device));
    Context *context = new_context(number, flags);
    *handle = context->object.handle;
    LEAVE(push_context(context));
}

API CUresult cuCtxDestroy_v2(Handle handle) {
    ENTER();
    Context *context = find_object(handle, CONTEXT);
    CHECK(context && context != context->device->primary, INVALID_CONTEXT);
    end_context(context);
    Context **place = top();
    if (place && *place == context) stack.depth--;
    LEAVE(OK);
}

API CUresult cuCtxPushCurrent_v2(Handle handle) {
    ENTER();
    Context *context = find_object(handle, CONTEXT);
    CHECK(context, INVALID_CONTEXT);
    LEAVE(push_context(context));
}

API CUresult cuCtxPopCurrent_v2(Handle *handle) {
    ENTER();
    Context **place = top();
    CHECK(place, INVALID_CONTEXT);
    if (handle) *handle = *place ? (*place)->object.handle : 0;
    stack.depth--;
    LEAVE(OK);
}

API CUresult cuCtxSetCurrent(Handle handle) {
    ENTER();
    Context *context = handle ? find_object(handle, CONTEXT) : NULL;
    CHECK(context || !handle, INVALID_CONTEXT);
    Context **place = top();
    if (!context) {
        if (place) stack.depth--;
    } else if (place) {
        *place = context;
    } else {
        LEAVE(push_context(context));
    }
    LEAVE(OK);
}

API CUresult cuCtxGetCurrent(Handle *handle) {
    ENTER();
    CHECK(handle, INVALID_VALUE);
    Context **place = top();
    *handle = place && *place ? (*place)->object.handle : 0;
    LEAVE(OK);
}

API CUresult cuCtxGetDevice(CUdevice *number) {
    ENTER();
    Context *context;
    TRY(current(&context));
    CHECK(number, INVALID_VALUE);
    *number = context->index;
    LEAVE(OK);
}

API CUresult cuCtxGetFlags(unsigned *flags) {
    ENTER();
    Context *context;
    TRY(current(&context));
    CHECK(flags, INVALID_VALUE);
    *flags = context->flags;
    LEAVE(OK);
}

API CUresult cuCtxGetApiVersion(Handle handle, unsigned *version) {
    ENTER();
    Context *context;
    TRY(context_of(handle, &context));
    CHECK(version, INVALID_VALUE);
    *version = 3020;
    LEAVE(OK);
}

API CUresult cuCtxGetId(Handle handle, unsigned long long *id) {
    ENTER();
    Context *context;
    TRY(context_of(handle, &context));
    CHECK(id, INVALID_VALUE);
    *id = context->object.handle;
    LEAVE(OK);
}

API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    ENTER();
    Context *context;
    TRY(current(&context));
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    LEAVE(OK);
}

API CUresult cuCtxSynchronize(void) {
    ENTER();
    Context *context;
    TRY(current(&context));
    TRY(unsafe_call());
    LEAVE(wait_for_context(context));
}

/* ---- Peer access ---- */

API CUresult cuCtxEnablePeerAccess(Handle handle, unsigned flags) {
    ENTER();
    Context *context, *peer;
    TRY(current(&context));
    CHECK(!flags, INVALID_VALUE);
    peer = find_object(handle, CONTEXT);
    CHECK(peer && peer != context, INVALID_CONTEXT);
    TRY(usable(peer));
    CHECK(peer->index != context->index && context->device->rank[peer->index] >= 0, PEER_ACCESS_UNSUPPORTED);
    if (emu.enables_wait) {
        TRY(wait_for_context(context));
        TRY(wait_for_context(peer));
    }
    for (int p = 0; p < context->peer_count; p++) CHECK(context->peers[p] != peer, PEER_ACCESS_ALREADY_ENABLED);
    CHECK(emu.switched || context->peer_count < MOST_PEERS, TOO_MANY_PEERS);
    context->peers[context->peer_count++] = peer;
    LEAVE(OK);
}

API CUresult cuCtxDisablePeerAccess(Handle handle) {
    ENTER();
    Context *context, *peer;
    TRY(current(&context));
    peer = find_object(handle, CONTEXT);
    CHECK(peer, INVALID_CONTEXT);
    for (int p = 0; p < context->peer_count; p++) {
        if (context->peers[p] != peer) continue;
        context->peers[p] = context->peers[--context->peer_count];
        LEAVE(OK);
    }
    LEAVE(PEER_ACCESS_NOT_ENABLED);
}
