package dev.banyan.kvstore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.kvstore.internal.overlap.BackwardPass;
import dev.banyan.kvstore.internal.overlap.Overlap;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class BackwardPassTest {
    @Test
    void releasesTheLastLayerFirstAndWaitsForTheComputation() {
        List<String> order = new ArrayList<>();
        try (Communicator communicator = Communicator.onHost(
                        Machine.preset("p3.16xlarge").subset(0, 1),
                        Config.builder().set(HostBackend.THREADS, 2).build());
                KVStore store =
                        KVStore.builder(communicator).type(StoreType.RING).open()) {
            List<Key> keys = List.of(Key.of("conv1"), Key.of("conv2"), Key.of("fc"));
            List<List<MemorySegment>> gradients = new ArrayList<>();
            for (Key key : keys) {
                gradients.add(Floats.byRank(communicator, 100));
                store.init(key, gradients.getLast().getFirst(), 100, DataType.F32);
            }
            store.setListener(new StoreListener() {
                @Override
                public void initialized(KeyInfo key, long nanos) {}

                @Override
                public void submitted(StoreOperation operation, long nanos) {
                    order.add(operation.key().key() + " " + operation.priority());
                }

                @Override
                public void began(StoreOperation operation, Stage stage, long nanos) {}

                @Override
                public void ended(StoreOperation operation, Stage stage, long nanos) {}

                @Override
                public void failed(StoreOperation operation, Throwable cause, long nanos) {}
            });
            Overlap overlap = new BackwardPass(store, keys, gradients).play(Duration.ofMillis(6));
            assertThat(overlap.stepUs()).isGreaterThanOrEqualTo(5999);
            assertThat(overlap.computeUs()).isEqualTo(6000);
            assertThat(overlap.communicationUs()).isPositive();
            assertThat(overlap.ratio()).isBetween(0.0, 1.0);
            assertThatThrownBy(() -> new BackwardPass(store, keys, List.of())).hasMessageContaining("at least one key");
        }
        assertThat(order).containsExactly("fc -2", "conv2 -1", "conv1 0", "fc -2", "conv2 -1", "conv1 0");
    }

    @Test
    void exposedIsWhatTheStepTakesBeyondItsComputation() {
        Overlap half = new Overlap(1000, 400, 1200);
        assertThat(half.exposedUs()).isEqualTo(200);
        assertThat(half.ratio()).isEqualTo(0.5);
        assertThat(new Overlap(0, 400, 500).ratio()).isZero();
        assertThat(new Overlap(1000, 400, 990).ratio()).isEqualTo(1);
    }
}
