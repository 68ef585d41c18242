package dev.banyan.djl;

import ai.djl.ndarray.NDArray;
import dev.banyan.schedule.type.DataType;
import java.util.Arrays;

/** One parameter in one step: its arrays on all replicas of this process, and their gradients. */
final class Slot {
    private final String id;
    private final NDArray[] gradients;
    private final NDArray[] parameters;

    /**
     * @param gradients one of each replica
     * @param parameters as many
     */
    Slot(String id, NDArray[] gradients, NDArray[] parameters) {
        this.id = id;
        this.gradients = gradients;
        this.parameters = parameters;
    }

    /**
     * With the gradients that PyTorch has.
     *
     * @param parameters one of each replica
     * @throws IllegalArgumentException if a gradient is sparse
     */
    static Slot of(String id, NDArray[] parameters) {
        return new Slot(id, Arrays.stream(parameters).map(Slot::gradient).toArray(NDArray[]::new), parameters);
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
        // There is none: DJL makes up zeros, but as FLOAT32 and where the parameter's manager is.
        gradient.close();
        return parameter.zerosLike();
    }

    String id() {
        return id;
    }

    int replicas() {
        return parameters.length;
    }

    long count() {
        return parameters[0].size();
    }

    DataType type() {
        return HostArray.type(gradients[0]);
    }

    NDArray gradient(int replica) {
        return gradients[replica];
    }

    NDArray parameter(int replica) {
        return parameters[replica];
    }

    /** One of each replica. */
    NDArray[] gradients() {
        return gradients.clone();
    }

    /** One of each replica. */
    NDArray[] parameters() {
        return parameters.clone();
    }

    /** Takes them from their managers, so that these don't free them. */
    void detachGradients() {
        Arrays.stream(gradients).forEach(NDArray::detach);
    }

    void closeGradients() {
        Arrays.stream(gradients).forEach(NDArray::close);
    }
}
