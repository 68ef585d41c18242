package dev.banyan.djl;

import ai.djl.ndarray.NDArray;
import dev.banyan.reduce.type.DataType;
import java.util.Arrays;
import java.util.List;

/** One parameter in one step: its arrays on all replicas of this process, and their gradients. */
final class Slot {
    private final String id;
    private final NDArray[] gradients;
    private final NDArray[] parameters;
    private final List<HostArray> memory;

    /**
     * @param gradients one of each replica
     * @param parameters as many
     */
    Slot(String id, NDArray[] gradients, NDArray[] parameters) {
        this.id = id;
        this.gradients = gradients;
        this.parameters = parameters;
        memory = Arrays.stream(gradients).map(HostArray::of).toList();
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

    /** The elements of all gradients. */
    List<HostArray> memory() {
        return memory;
    }

    void closeGradients() {
        Arrays.stream(gradients).forEach(NDArray::close);
    }
}
