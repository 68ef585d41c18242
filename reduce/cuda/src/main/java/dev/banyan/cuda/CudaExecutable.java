package dev.banyan.cuda;

import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Executable;
import java.lang.foreign.MemorySegment;
import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import jcuda.driver.CUgraphExec;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/** A plan and its graphs, one for each set of buffers of late. */
final class CudaExecutable implements Executable {
    /** A model may have some hundred gradients of one length, which share a plan and have buffers of their own. */
    private static final int KEPT_GRAPHS = 256;

    private final CudaBackend backend;
    private final Plan plan;
    private final IntBuffer marks;
    /** By the addresses of all buffers: inputs of ranks 0..n-1, then outputs. */
    private final Map<List<Long>, CUgraphExec> graphs = new LinkedHashMap<>(16, 0.75f, true);

    private long[] lastAddresses = {};
    private @Nullable CUgraphExec lastGraph;
    private boolean closed;

    CudaExecutable(CudaBackend backend, Plan plan) {
        this.backend = backend;
        this.plan = plan;
        marks = plan.marks().view().asIntBuffer();
    }

    @Override
    public void run(MemorySegment[] inputs, MemorySegment[] outputs) {
        checkNumber(inputs, outputs);
        if (!plan.routes().isEmpty()) {
            backend.run(this, inputs, outputs);
        }
    }

    @Override
    public @Nullable CompletableFuture<Void> start(
            MemorySegment[] inputs, MemorySegment[] outputs, @Nullable CallerStreams streams) {
        if (streams == null) {
            run(inputs, outputs);
        } else {
            checkNumber(inputs, outputs);
            backend.run(this, inputs, outputs, streams, () -> {});
        }
        return null;
    }

    private void checkNumber(MemorySegment[] inputs, MemorySegment[] outputs) {
        int ranks = plan.devices().size();
        if (inputs.length != ranks || outputs.length != ranks) {
            throw new IllegalArgumentException(inputs.length + " inputs and " + outputs.length + " outputs for " + ranks
                    + " ranks; give one of each per rank");
        }
    }

    /** The graph for these buffers; made if they are new. */
    CUgraphExec graph(MemorySegment[] inputs, MemorySegment[] outputs) {
        CUgraphExec graph = lastGraph;
        if (graph == null || !isLast(inputs, outputs)) {
            long[] addresses = addresses(inputs, outputs);
            graph = graphs.computeIfAbsent(Arrays.stream(addresses).boxed().toList(), key -> build(addresses));
            lastAddresses = addresses;
            lastGraph = graph;
            evict();
        }
        return graph;
    }

    private boolean isLast(MemorySegment[] inputs, MemorySegment[] outputs) {
        int ranks = inputs.length;
        for (int r = 0; r < ranks; r++) {
            if (lastAddresses[r] != inputs[r].address() || lastAddresses[ranks + r] != outputs[r].address()) {
                return false;
            }
        }
        return true;
    }

    private static long[] addresses(MemorySegment[] inputs, MemorySegment[] outputs) {
        long[] addresses = new long[2 * inputs.length];
        for (int r = 0; r < inputs.length; r++) {
            addresses[r] = inputs[r].address();
            addresses[inputs.length + r] = outputs[r].address();
        }
        return addresses;
    }

    private CUgraphExec build(long[] values) {
        int ranks = plan.devices().size();
        for (Route route : plan.routes()) {
            route.buffers().forEach(location -> {
                switch (location.space()) {
                    case INPUT -> backend.checkOwner(location.rank(), values[location.rank()]);
                    case OUTPUT -> backend.checkOwner(location.rank(), values[ranks + location.rank()]);
                    case SCRATCH -> {}
                }
            });
        }
        return new GraphBuilder(plan, Arrays.copyOf(values, ranks), Arrays.copyOfRange(values, ranks, 2 * ranks))
                .build();
    }

    private void evict() {
        if (graphs.size() > KEPT_GRAPHS) {
            var eldest = graphs.entrySet().iterator();
            CUgraphExec graph = eldest.next().getValue();
            eldest.remove();
            Cuda.check(JCudaDriver.cuGraphExecDestroy(graph), "cuGraphExecDestroy");
        }
    }

    void clearMarks() {
        for (int i = 0; i < marks.capacity(); i++) {
            marks.put(i, 0);
        }
    }

    /** The first step that is not done and whose predecessors are, if possible one of a device. */
    Unfinished firstUnfinished(@Nullable CudaDevice wanted) {
        Unfinished first = null;
        int mark = 0;
        for (Route route : plan.routes()) {
            for (int s = 0; s < route.steps().size(); s++, mark++) {
                int step = s;
                if (marks.get(mark) != 0) {
                    continue;
                }
                Operation operation = route.operations().stream()
                        .filter(o -> o.step() == step && o.last())
                        .findFirst()
                        .orElseThrow();
                CudaDevice device = plan.devices().get(operation.rank());
                if (device.equals(wanted)) {
                    return new Unfinished(device, route.steps().get(s) + " of " + plan.name());
                }
                if (first == null) {
                    first = new Unfinished(device, route.steps().get(s) + " of " + plan.name());
                }
            }
        }
        return first == null ? new Unfinished(plan.devices().getFirst(), "the end of " + plan.name()) : first;
    }

    /** A step that is not done. */
    record Unfinished(CudaDevice device, String step) {}

    String name() {
        return plan.name();
    }

    @Override
    public void close() {
        backend.release(this);
    }

    /** Gives everything back; nothing of it may be running. */
    void free(boolean sound) {
        if (closed) {
            return;
        }
        closed = true;
        for (CUgraphExec graph : graphs.values()) {
            int result = JCudaDriver.cuGraphExecDestroy(graph);
            if (sound) {
                Cuda.check(result, "cuGraphExecDestroy");
            }
        }
        graphs.clear();
        lastGraph = null;
        int result = plan.marks().free();
        if (sound) {
            Cuda.check(result, "cuMemFreeHost");
        }
    }
}
