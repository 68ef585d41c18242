package dev.banyan.study.tune;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.TreeGenerator;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.study.machine.Variants;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TunerTest {
    /** Trials of a star of 10 us beside a ring of 20 us and NCCL of 30 us. */
    private record Fixed(double error, double errorOfNccl) implements Trials {
        @Override
        public List<Long> chunkBytes(AlgorithmConfig whole, long bytes) {
            return List.of(Long.MAX_VALUE);
        }

        @Override
        public List<AlgorithmChoice> algorithms() {
            return List.of(AlgorithmChoice.RING, AlgorithmChoice.STAR);
        }

        @Override
        public List<AlgorithmChoice> beside() {
            return List.of(AlgorithmChoice.NCCL);
        }

        @Override
        public TimeRange range(AlgorithmConfig choice, long bytes) {
            double us = us(choice, bytes);
            double factor = choice.algorithm() == AlgorithmChoice.NCCL ? errorOfNccl : error;
            return new TimeRange(us / factor, us * factor);
        }

        @Override
        public List<Integer> maxTrees() {
            return List.of(Integer.MAX_VALUE);
        }

        @Override
        public double us(AlgorithmConfig choice, long bytes) {
            return switch (choice.algorithm()) {
                case STAR -> 10;
                case RING -> 20;
                default -> 30;
            };
        }

        @Override
        public void close() {}
    }

    @ParameterizedTest
    @CsvSource({"1.4, 1.4, true", "1.5, 1.1, false", "1.2, 2.4, true", "1.2, 2.6, false"})
    void theChoiceIsTheFastestIfNoOtherRangeOverlaps(double error, double errorOfNccl, boolean apart) {
        Tuner.Found found = new Tuner(
                        new Fixed(error, errorOfNccl), new Variants(TreeGenerator.KERNIGHAN_LIN, Integer.MAX_VALUE))
                .next(1024);
        assertThat(found.choice()).isEqualTo(AlgorithmConfig.of(AlgorithmChoice.STAR));
        assertThat(found.apart()).isEqualTo(apart);
    }
}
