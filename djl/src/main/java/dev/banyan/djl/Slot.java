package dev.banyan.djl;

import ai.djl.ndarray.NDArray;
import dev.banyan.reduce.type.DataType;
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

    void closeGradients() {
        Arrays.stream(gradients).forEach(NDArray::close);
    }
}
