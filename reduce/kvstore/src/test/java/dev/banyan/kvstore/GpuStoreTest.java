package dev.banyan.kvstore;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Presets;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A store whose devices have memory of their own, on the emulated driver. */
@Timeout(120)
class GpuStoreTest {
    private static final int COUNT = 300;

    private final CudaEmulator emulator = CudaEmulator.load();
    private final Communicator communicator = gpus();

    private static Communicator gpus() {
        return Communicator.onGpus(
                Presets.find("p3.16xlarge").orElseThrow().subset(0, 1, 2, 3), Config.defaults(), 0, 1, 2, 3);
    }

    @AfterEach
    void nothingWentWrongUnseen() {
        communicator.close();
        assertThat(emulator.problems()).isEmpty();
    }

    /** Rank r's elements are r + 1. */
    private List<MemorySegment> gradients() {
        List<MemorySegment> arrays = Floats.zeros(communicator, COUNT);
        for (int rank = 0; rank < arrays.size(); rank++) {
            float[] values = new float[COUNT];
            Arrays.fill(values, rank + 1);
            communicator.copyToDevice(arrays.get(rank), MemorySegment.ofArray(values));
        }
        return arrays;
    }

    private void assertAll(List<MemorySegment> arrays, float expected) {
        for (MemorySegment array : arrays) {
            float[] values = new float[COUNT];
            communicator.copyToHost(array, MemorySegment.ofArray(values));
            assertThat(values).containsOnly(expected);
        }
    }

    private static MemorySegment initial(float value) {
        float[] values = new float[COUNT];
        Arrays.fill(values, value);
        return MemorySegment.ofArray(values);
    }

    @ParameterizedTest
    @ValueSource(strings = {"device", "tree", "ring", "auto"})
    void smallKeysTravelOneByOne(String type) {
        try (KVStore store = KVStore.create(type, communicator)) {
            List<Key> keys = IntStream.range(0, 5).mapToObj(Key::of).toList();
            keys.forEach(key -> store.init(key, initial(7), COUNT, DataType.F32));
            List<List<MemorySegment>> arrays =
                    keys.stream().map(key -> gradients()).toList();
            List<List<MemorySegment>> results =
                    keys.stream().map(key -> Floats.zeros(communicator, COUNT)).toList();
            store.pullAll(keys, results, 0).join();
            results.forEach(result -> assertAll(result, 7));
            store.pushPullAll(keys, arrays, results, 0).join();
            results.forEach(result -> assertAll(result, 10));
            store.pushAll(keys, arrays, 0).join();
            store.pullAll(keys, results, 0).join();
            results.forEach(result -> assertAll(result, 10));
        }
    }

    @Test
    void updatersWorkOnCopies() {
        try (KVStore store = KVStore.create("device", communicator)) {
            store.setUpdater(new Sgd(0.5).momentum(0.5));
            store.init("w", initial(100), COUNT, DataType.F32);
            List<MemorySegment> results = Floats.zeros(communicator, COUNT);
            store.pushPull("w", gradients(), results, 0).join();
            assertAll(results, 95);
            store.pushPull("w", gradients(), results, 0).join();
            assertAll(results, 87.5f);
        }
    }
}
