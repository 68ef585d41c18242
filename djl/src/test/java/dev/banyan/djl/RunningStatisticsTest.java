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
import dev.banyan.djl.internal.engine.RunningStatistics;
import org.junit.jupiter.api.Test;

class RunningStatisticsTest {
    @Test
    void meansAndVariancesAreThoseOfAll() {
        try (NDManager manager = Engine.getInstance().newBaseManager()) {
            OtherHasFives processes = new OtherHasFives();
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
            assertThat(processes.counts()).containsExactly(14L);
        }
    }

    @Test
    void aModelWithoutAnyHasNothingToSay() {
        try (NDManager manager = Engine.getInstance().newBaseManager()) {
            OtherHasFives processes = new OtherHasFives();
            Block block = Linear.builder().setUnits(4).build();
            block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
            new RunningStatistics(block, processes).average();
            assertThat(processes.counts()).isEmpty();
        }
    }
}
