package dev.banyan.djl.internal.torch;

import ai.djl.ndarray.NDArray;
import dev.banyan.schedule.type.DataType;
import java.util.Arrays;
import java.util.List;

/**
 * One parameter in one step.
 *
 * @param gradients the gradient of each replica of this process
 * @param parameters the parameter of each replica
 */
public record Slot(String id, List<NDArray> gradients, List<NDArray> parameters) {
    /**
     * Returns a slot with the gradients that PyTorch holds.
     *
     * @param parameters one of each replica
     * @throws IllegalArgumentException if a gradient is sparse
     */
    public static Slot of(String id, NDArray[] parameters) {
        return new Slot(id, Arrays.stream(parameters).map(Slot::gradient).toList(), List.of(parameters));
    }

    private static NDArray gradient(NDArray parameter) {
        NDArray gradient = parameter.getGradient();
        if (gradient.isSparse()) {
            throw new IllegalArgumentException("parameter " + parameter.getName() + " of shape " + parameter.getShape()
                    + " has a sparse gradient, which can't be exchanged; build its Embedding with SparseFormat.DENSE");
        }
        if (gradient.getDataType() == parameter.getDataType()
                && gradient.getDevice().equals(parameter.getDevice())) {
            return gradient;
        }
        // The parameter has no gradient: DJL returns zeros, but as FLOAT32 and on the device of the manager.
        gradient.close();
        return parameter.zerosLike();
    }

    public long count() {
        return parameters.getFirst().size();
    }

    /** Returns the type of the gradients. */
    public DataType type() {
        return HostArray.type(gradients.getFirst());
    }

    /** Detaches the gradients from their managers, so that these do not free them. */
    public void detachGradients() {
        gradients.forEach(NDArray::detach);
    }

    public void closeGradients() {
        gradients.forEach(NDArray::close);
    }
}
