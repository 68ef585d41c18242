/* The number of blocks that run at once: limits of multiprocessors, and registers of kernels. */
#include "ptx.h"

enum { ARCHITECTURES = 4, WARP_REGISTERS_UNIT = 256, PARTITIONS = 4, ASSUMED_REGISTERS = 32 };

/* By NVIDIA's tables of compute capabilities. On multiprocessors of the newer ones a block takes 1 KiB for the system. */
static const struct {
    int architecture;
    Room whole;
    int reserved;
} limits[ARCHITECTURES] = {
    {70, {32, 64, 65536, 96 << 10}, 0},
    {80, {32, 64, 65536, 164 << 10}, 1 << 10},
    {90, {32, 64, 65536, 228 << 10}, 1 << 10},
    {100, {32, 64, 65536, 228 << 10}, 1 << 10},
};

/* Registers of a thread on each of these architectures, as NVIDIA's compiler allots them. PtxTest holds the table. */
static const struct {
    const char *kernel;
    int registers[ARCHITECTURES];
} compiled[] = {
#include "registers.inc"
};

/* The newest one that the device is not older than. */
static int architecture_of(const Device *device) {
    int found = 0;
    for (int a = 1; a < ARCHITECTURES; a++) {
        if (10 * device->major + device->minor >= limits[a].architecture) found = a;
    }
    return found;
}

Room whole_room(const Device *device) { return limits[architecture_of(device)].whole; }

int most_shared_bytes(const Device *device) {
    int a = architecture_of(device);
    return limits[a].whole.shared - limits[a].reserved;
}

int registers_of(const Kernel *kernel, const Device *device) {
    for (size_t k = 0; k < sizeof compiled / sizeof *compiled; k++) {
        if (!strcmp(compiled[k].kernel, kernel->name)) return compiled[k].registers[architecture_of(device)];
    }
    return ASSUMED_REGISTERS;
}

Room room_of(const Kernel *kernel, const Device *device, unsigned threads, unsigned shared_bytes) {
    int a = architecture_of(device);
    int warps = (int)(threads + LANES - 1) / LANES;
    int of_warp = (registers_of(kernel, device) * LANES + WARP_REGISTERS_UNIT - 1) / WARP_REGISTERS_UNIT * WARP_REGISTERS_UNIT;
    /* Each partition has its own registers, and what is left there is lost. */
    int partition = limits[a].whole.registers / PARTITIONS;
    return (Room){1, warps, warps * (partition / (partition / of_warp)),
                  kernel->shared_bytes + (int)shared_bytes + limits[a].reserved};
}

static int fits(const Room *taken, const Room *block, const Room *whole) {
    return taken->blocks + block->blocks <= whole->blocks && taken->warps + block->warps <= whole->warps
           && taken->registers + block->registers <= whole->registers && taken->shared + block->shared <= whole->shared;
}

static void add(Room *taken, const Room *block, int times) {
    taken->blocks += times * block->blocks;
    taken->warps += times * block->warps;
    taken->registers += times * block->registers;
    taken->shared += times * block->shared;
}

int blocks_of_multiprocessor(const Kernel *kernel, const Device *device, unsigned threads, unsigned shared_bytes) {
    if (threads > kernel->most_threads) return 0;
    Room whole = whole_room(device), block = room_of(kernel, device, threads, shared_bytes), taken = {0, 0, 0, 0};
    while (fits(&taken, &block, &whole)) add(&taken, &block, 1);
    return taken.blocks;
}

int take_room(Device *device, const Room *block) {
    Room whole = whole_room(device);
    int chosen = -1;
    for (int m = 0; m < device->multiprocessors; m++) {
        if (!fits(&device->taken[m], block, &whole)) continue;
        if (chosen < 0 || device->taken[m].warps < device->taken[chosen].warps) chosen = m;
    }
    if (chosen >= 0) add(&device->taken[chosen], block, 1);
    return chosen;
}

void give_room(Device *device, int multiprocessor, const Room *block) { add(&device->taken[multiprocessor], block, -1); }
