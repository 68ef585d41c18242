package dev.banyan.page.model;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The exchange of all gradients of a model in a training step, predicted.
 *
 * @param workload what the model is called
 * @param elements of 4 bytes, of each bucket of gradients in the order in which they are exchanged
 * @param ways how the algorithms and NCCL carry it
 */
public record StepModel(String workload, List<Long> elements, List<Exchange> ways) {
    /**
     * The exchange in one way. The model of NCCL knows no calls in flight.
     *
     * @param curve index of its curve
     * @param oneByOneMs time if each bucket waits for the one before
     * @param togetherMs time if all buckets are in flight at once; null if that is not known
     * @param doneMs when each bucket is done, if all are in flight at once; null if that is not known
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record Exchange(
            int curve,
            double oneByOneMs,
            @Nullable Double togetherMs,
            @Nullable List<Double> doneMs) {}
}
