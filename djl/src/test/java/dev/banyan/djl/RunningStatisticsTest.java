package dev.banyan.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.BatchNorm;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class RunningStatisticsTest {
    /** Two processes, of which the other one has 5 for everything. */
    private static final class WithFives implements Processes {
        private final List<Long> counts = new ArrayList<>();

        @Override
        public int rank() {
            return 0;
        }

        @Override
        public int size() {
            return 2;
        }

        @Override
        public void broadcast(MemorySegment buffer, long count, dev.banyan.reduce.type.DataType type) {
            throw new AssertionError("nothing is to be broadcast");
        }

        @Override
        public CompletableFuture<Void> average(
                MemorySegment buffer, long count, dev.banyan.reduce.type.DataType type) {
            counts.add(count);
            for (long i = 0; i < count; i++) {
                float own = buffer.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                buffer.setAtIndex(ValueLayout.JAVA_FLOAT, i, (own + 5) / 2);
            }
            return CompletableFuture.completedFuture(null);
        }
    }

    @Test
    void meansAndVariancesAreThoseOfAll() {
        try (NDManager manager = Engine.getInstance().newBaseManager()) {
            WithFives processes = new WithFives();
            Block block = new SequentialBlock()
                    .add(BatchNorm.builder().build())
                    .add(Linear.builder().setUnits(4).build())
                    .add(BatchNorm.builder().build());
            block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
            new RunningStatistics(block, processes).average();
            for (Parameter parameter : block.getParameters().values()) {
                float[] values = parameter.getArray().toFloatArray();
                switch (parameter.getType()) {
                    case RUNNING_MEAN -> assertThat(values).containsOnly(2.5f);
                    case RUNNING_VAR -> assertThat(values).containsOnly(3);
                    case GAMMA -> assertThat(values).containsOnly(1);
                    case BETA -> assertThat(values).containsOnly(0);
                    default -> assertThat(values).doesNotContain(2.5f);
                }
            }
            assertThat(processes.counts).containsExactly(14L);
        }
    }

    @Test
    void aModelWithoutAnyHasNothingToSay() {
        try (NDManager manager = Engine.getInstance().newBaseManager()) {
            WithFives processes = new WithFives();
            Block block = Linear.builder().setUnits(4).build();
            block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
            new RunningStatistics(block, processes).average();
            assertThat(processes.counts).isEmpty();
        }
    }
}
