package dev.banyan.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.loss.Loss;
import dev.banyan.djl.internal.engine.GlobalEvaluators;
import java.util.List;
import org.junit.jupiter.api.Test;

class GlobalEvaluatorsTest {
    private static final String[] KEYS = {"all", "epoch"};

    private final OtherHasFives processes = new OtherHasFives();
    private final GlobalEvaluators evaluators = new GlobalEvaluators(processes);
    private final Evaluator accuracy = evaluators.add(new Accuracy());
    private final Evaluator loss = evaluators.add(Loss.softmaxCrossEntropyLoss());

    @Test
    void valuesOfAllAreExchangedTogetherWhenOneIsAskedFor() {
        List.of(accuracy, loss).forEach(evaluator -> List.of(KEYS).forEach(evaluator::addAccumulator));
        try (NDManager manager = Engine.getInstance().newBaseManager()) {
            NDList labels = new NDList(manager.create(new float[] {0, 1}));
            NDList predictions = new NDList(manager.create(new float[] {1, 0, 1, 0}, new Shape(2, 2)));
            accuracy.updateAccumulators(KEYS, labels, predictions);
            loss.updateAccumulators(KEYS, labels, predictions);
            assertThat(accuracy.getAccumulator("all")).isEqualTo((0.5f + 5) / 2);
            assertThat(loss.getAccumulator("all")).isBetween(2.5f, 4f);
            assertThat(accuracy.getAccumulator("all")).isEqualTo((0.5f + 5) / 2);
            assertThat(processes.counts()).containsExactly(2L);

            accuracy.updateAccumulators(new String[] {"all"}, new NDList(manager.zeros(new Shape(2))), predictions);
            assertThat(loss.getAccumulator("all")).isBetween(2.5f, 4f);
            assertThat(processes.counts()).containsExactly(2L);
            assertThat(accuracy.getAccumulator("all")).isEqualTo((0.75f + 5) / 2);
            assertThat(loss.getAccumulator("epoch")).isBetween(2.5f, 4f);
            assertThat(accuracy.getAccumulator("epoch")).isEqualTo((0.5f + 5) / 2);
            assertThat(processes.counts()).containsExactly(2L, 1L, 2L);

            accuracy.resetAccumulator("all");
            assertThat(accuracy.getAccumulator("all")).isNaN();
        }
    }

    @Test
    void anAccumulatorThatNobodyAddedIsRefused() {
        loss.addAccumulator("all");
        for (int time = 0; time < 2; time++) {
            assertThatThrownBy(() -> loss.getAccumulator("epoch")).isInstanceOf(IllegalArgumentException.class);
        }
        assertThat(processes.counts()).isEmpty();
    }
}
