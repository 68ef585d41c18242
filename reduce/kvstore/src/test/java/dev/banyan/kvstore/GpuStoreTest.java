package dev.banyan.kvstore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A store whose devices have memory of their own, on the emulated driver. */
class GpuStoreTest {
    private static final int COUNT = 300;
    static final List<String> HOST_COPIES = List.of(
            "cuMemcpy", "cuMemcpyAsync", "cuMemcpyDtoH", "cuMemcpyDtoHAsync", "cuMemcpyHtoD", "cuMemcpyHtoDAsync");

    private final CudaEmulator emulator = CudaEmulator.load();
    private final Communicator communicator = gpus();

    private static Communicator gpus() {
        return Communicator.onGpus(Machine.preset("p3.16xlarge").subset(0, 1, 2, 3), Config.defaults(), 0, 1, 2, 3);
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
    void keysOfOneCallGoTogether(String type) {
        try (KVStore store =
                KVStore.builder(communicator).type(StoreType.of(type)).open()) {
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
    void updatersInJavaWorkOnCopies() {
        Updater updater = (key, pushed, value) -> {
            for (long i = 0; i < key.count(); i++) {
                float before = value.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                value.setAtIndex(ValueLayout.JAVA_FLOAT, i, before - pushed.getAtIndex(ValueLayout.JAVA_FLOAT, i) / 2);
            }
        };
        try (KVStore store = KVStore.builder(communicator)
                .type(StoreType.DEVICE)
                .updater(updater)
                .open()) {
            store.init(Key.of("w"), initial(100), COUNT, DataType.F32);
            List<MemorySegment> results = Floats.zeros(communicator, COUNT);
            List<MemorySegment> gradients = gradients();
            store.pushPull(Key.of("w"), gradients, results).join();
            assertAll(results, 95);
            long copies = hostCopies();
            store.pushPull(Key.of("w"), gradients, results).join();
            // The sum and the value to the host, and the value back.
            assertThat(hostCopies() - copies).isEqualTo(3);
            assertAll(results, 90);
        }
    }

    @Test
    void optimizersWorkWhereTheValuesAre() {
        try (KVStore store = KVStore.builder(communicator)
                .type(StoreType.DEVICE)
                .optimizer(Optimizer.sgd(0.5).momentum(0.5))
                .open()) {
            store.init(Key.of("w"), initial(100), COUNT, DataType.F32);
            List<MemorySegment> results = Floats.zeros(communicator, COUNT);
            List<MemorySegment> gradients = gradients();
            store.pushPull(Key.of("w"), gradients, results).join();
            assertAll(results, 95);
            long copies = hostCopies();
            var _ = store.push(Key.of("w"), gradients);
            store.pull(Key.of("w"), results).join();
            assertThat(hostCopies()).isEqualTo(copies);
            assertAll(results, 87.5f);
            store.setOptimizer(Optimizer.sgd(0.25).momentum(0.5));
            store.pushPull(Key.of("w"), gradients, results).join();
            assertAll(results, 87.5f - 3.75f - 2.5f);
            assertThatThrownBy(() -> store.setOptimizer(Optimizer.adam(1)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("one of the same class and number of moments");
        }
    }

    @Test
    void aListenerReceivesAllStagesOfAnUpdateOnTheDevice() {
        List<String> heard = new CopyOnWriteArrayList<>();
        try (KVStore store =
                KVStore.builder(communicator).optimizer(Optimizer.sgd(1)).open()) {
            store.init(Key.of(1), initial(0), COUNT, DataType.F32);
            store.setListener(new Stages(heard));
            store.pushPull(Key.of(1), gradients(), Floats.zeros(communicator, COUNT))
                    .join();
        }
        assertThat(heard)
                .containsExactly(
                        "began REDUCE",
                        "ended REDUCE",
                        "began UPDATE",
                        "ended UPDATE",
                        "began BROADCAST",
                        "ended BROADCAST");
    }

    /** While one batch is under way, keys gather, and go as one batch in the order of their priorities. */
    @Test
    void keysThatGatherGoTogetherByTheirPriorities() {
        List<String> heard = new CopyOnWriteArrayList<>();
        try (KVStore store =
                KVStore.builder(communicator).optimizer(Optimizer.sgd(1)).open()) {
            List<List<MemorySegment>> gradients = new ArrayList<>();
            for (int key = 0; key < 6; key++) {
                store.init(Key.of(key), initial(0), COUNT, DataType.F32);
                gradients.add(gradients());
                store.push(Key.of(key), gradients.get(key)).join();
            }
            long updates = emulator.count("kernels banyan_update_");
            CountDownLatch begun = new CountDownLatch(1);
            store.setListener(new Begins(heard, begun));
            emulator.tell("pause");
            var _ = store.push(Key.of(0), gradients.get(0));
            assertThatNoException().isThrownBy(begun::await);
            for (int key = 1; key < 6; key++) {
                var _ = store.push(Key.of(key), gradients.get(key), key * 3 % 7);
            }
            emulator.tell("resume");
            store.waitAll();
            assertThat(heard).containsExactly("0", "2", "4", "1", "3", "5");
            // All keys have the same server.
            assertThat(emulator.count("kernels banyan_update_") - updates).isEqualTo(2);
        }
    }

    /** Notes the keys whose sums begin. */
    private static final class Begins extends Stages {
        private final List<String> heard;
        private final CountDownLatch first;

        Begins(List<String> heard, CountDownLatch first) {
            super(new CopyOnWriteArrayList<>());
            this.heard = heard;
            this.first = first;
        }

        @Override
        public void began(StoreOperation operation, Stage stage, long nanos) {
            if (stage == Stage.REDUCE) {
                heard.add(operation.key().key().name());
                first.countDown();
            }
        }
    }

    /** Notes the stages. */
    private static class Stages implements StoreListener {
        private final List<String> heard;

        Stages(List<String> heard) {
            this.heard = heard;
        }

        @Override
        public void initialized(KeyInfo key, long nanos) {}

        @Override
        public void submitted(StoreOperation operation, long nanos) {}

        @Override
        public void began(StoreOperation operation, Stage stage, long nanos) {
            heard.add("began " + stage);
        }

        @Override
        public void ended(StoreOperation operation, Stage stage, long nanos) {
            heard.add("ended " + stage);
        }

        @Override
        public void failed(StoreOperation operation, Throwable cause, long nanos) {
            heard.add("failed " + cause);
        }
    }

    @Test
    void aFailureOfTheUpdateFailsTheOperation() {
        try (KVStore store =
                KVStore.builder(communicator).optimizer(Optimizer.adam(1)).open()) {
            store.init(Key.of(1), initial(0), COUNT, DataType.F32);
            List<MemorySegment> gradients = gradients();
            emulator.tell("fail cuLaunchKernel 1 999");
            assertThatThrownBy(() -> store.push(Key.of(1), gradients).join())
                    .hasCauseInstanceOf(KVStoreException.class)
                    .hasMessageContaining("push of key 1 failed: cuLaunchKernel of ");
        }
    }

    @Test
    void optimizersRejectKeysOfIntegers() {
        try (KVStore store =
                KVStore.builder(communicator).optimizer(Optimizer.adam(1)).open()) {
            store.init(Key.of(1), MemorySegment.ofArray(new int[2]), 2, DataType.I32);
            assertThatThrownBy(() -> store.push(Key.of(1), communicator.allocateAll(8)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(
                            "push of key 1: the key has elements of I32, but optimizers update F32, F64, F16 and BF16"
                                    + " only");
        }
    }

    private long hostCopies() {
        return HOST_COPIES.stream()
                .mapToLong(call -> emulator.count("calls " + call))
                .sum();
    }
}
