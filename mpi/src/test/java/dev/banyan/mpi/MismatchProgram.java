package dev.banyan.mpi;

import static dev.banyan.mpi.WorldProgram.require;

import dev.banyan.config.Config;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.StoreType;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;

/** Random calls that differ between the processes, each of which fails in every process and breaks nothing. */
final class MismatchProgram {
    private static final int MOST = 100_000;

    /** The mismatch of the last process. */
    private enum Kind {
        KEY,
        KEY_LENGTH,
        KEY_TYPE,
        LENGTH,
        TYPE,
        OPERATION,
        ORDER,
        MISSING
    }

    private final World world;
    private final boolean odd;
    private final SplittableRandom random;
    private final MemorySegment array = Arena.ofAuto().allocate((long) MOST * Double.BYTES, 64);
    /** The least length that no call had; lengths of unlike calls are far apart from those of each other. */
    private int fresh = 1;

    private MismatchProgram(World world, long seed) {
        this.world = world;
        odd = world.rank() == world.size() - 1;
        random = new SplittableRandom(seed);
    }

    /** Returns the number of mismatches. */
    static long run(World world, int cases) {
        for (int seed = 0; seed < cases; seed++) {
            try (Communicator local = Communicator.onHost(
                            Machine.preset("p3.16xlarge").subset(0),
                            Config.builder().set(HostBackend.THREADS, 1).load());
                    KVStore store =
                            KVStore.builder(local).type(StoreType.DEPCHA).open()) {
                int last = Math.min(cases, seed + 50);
                for (; seed < last; seed++) {
                    new MismatchProgram(world, seed).check(store, seed);
                }
                seed--;
            }
        }
        return cases;
    }

    private void check(KVStore store, int seed) {
        fresh = 1 + 40 * seed;
        Kind kind = Kind.values()[seed % Kind.values().length];
        String name = kind + " of seed " + seed;
        try {
            play(kind, store, seed);
            throw new AssertionError("not so: a failure of " + name);
        } catch (OrderException e) {
            require(String.valueOf(e.getMessage()).contains("in one order on all"), name + ": " + e.getMessage());
        }
        for (int i = 0; i < 1000; i++) {
            array.setAtIndex(ValueLayout.JAVA_FLOAT, i, i);
        }
        world.all().allReduce(array, 1000, DataType.F32, ReduceOp.SUM);
        for (int i = 0; i < 1000; i++) {
            require(array.getAtIndex(ValueLayout.JAVA_FLOAT, i) == i * world.size(), name + ": element " + i);
        }
    }

    private void play(Kind kind, KVStore store, int seed) {
        int first = length();
        int second = length();
        switch (kind) {
            case KEY -> init(store, odd ? 2 * seed : 2 * seed + 1, first, DataType.F32);
            case KEY_LENGTH -> init(store, 2 * seed, odd ? first : second, DataType.F32);
            case KEY_TYPE -> init(store, 2 * seed, first, odd ? DataType.F64 : DataType.F32);
            case LENGTH -> reduce(odd ? first : second, DataType.F32, ReduceOp.SUM);
            case TYPE -> reduce(first, odd ? DataType.F64 : DataType.I32, ReduceOp.MAX);
            case OPERATION -> reduce(first, DataType.F32, odd ? ReduceOp.PROD : ReduceOp.MIN);
            case ORDER -> {
                reduce(odd ? first : second, DataType.F32, ReduceOp.SUM);
                reduce(odd ? second : first, DataType.F32, ReduceOp.SUM);
            }
            case MISSING -> {
                if (!odd) {
                    reduce(first, DataType.F32, ReduceOp.SUM);
                }
                reduce(second, DataType.F32, ReduceOp.SUM);
            }
        }
    }

    /** Returns a length that no call had, the same in all processes. */
    private int length() {
        fresh += 1 + random.nextInt(10);
        return random.nextBoolean() || fresh > MOST / 2 ? fresh : MOST - fresh;
    }

    private void init(KVStore store, int key, int count, DataType type) {
        store.init(Key.of(key), array.asSlice(0, (long) count * type.bytes()), count, type);
    }

    private void reduce(int count, DataType type, ReduceOp op) {
        world.all().allReduce(array, count, type, op);
    }
}
