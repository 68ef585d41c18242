package dev.banyan.cuda.internal.graph;

import dev.banyan.cuda.internal.driver.Cuda;
import java.nio.LongBuffer;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import jcuda.driver.JCudaDriver;

/**
 * The graphs of all executables of a backend. When they have too many nodes, those that were unused for the longest
 * time are destroyed, but never the newest one nor one that is in flight. Used by one thread at a time.
 */
public final class GraphCache {
    /**
     * Enough for the graphs of some hundred gradients with some hundred nodes each, which is what a model on 8 devices
     * launches in one step of its training. The driver keeps its own copy of every node in the host's memory and on the
     * devices, so that there must be a bound.
     */
    public static final int MOST_NODES = 200_000;

    /**
     * The properties on which a graph depends.
     *
     * @param addresses of the inputs of ranks 0..n-1, then of their outputs
     */
    record Key(CudaExecutable executable, LongBuffer addresses) {}

    private final Map<Key, Graph> graphs = new LinkedHashMap<>(16, 0.75f, true);
    private final int mostNodes;
    private final Predicate<Graph> inFlight;
    private long nodes;

    /**
     * @param mostNodes bound of the sum of all graphs' nodes; one graph alone may have more
     * @param inFlight whether a graph was launched and has not ended
     */
    GraphCache(int mostNodes, Predicate<Graph> inFlight) {
        this.mostNodes = mostNodes;
        this.inFlight = inFlight;
    }

    /** Returns the graph of a key; builds it where there is none. */
    Graph get(Key key, Supplier<Graph> builder) {
        Graph graph = graphs.get(key);
        if (graph == null) {
            graph = builder.get();
            graphs.put(key, graph);
            nodes += graph.nodes();
            evict();
        }
        return graph;
    }

    /** The newest graph is the last one. */
    private void evict() {
        int older = graphs.size() - 1;
        for (Iterator<Graph> eldest = graphs.values().iterator(); nodes > mostNodes && older > 0; older--) {
            Graph graph = eldest.next();
            if (!inFlight.test(graph)) {
                eldest.remove();
                Cuda.check(destroy(graph), "cuGraphExecDestroy");
            }
        }
    }

    /** Destroys the graphs of an executable, none of which is in flight. */
    void remove(CudaExecutable executable) {
        graphs.entrySet().removeIf(entry -> {
            boolean found = entry.getKey().executable().equals(executable);
            if (found) {
                destroy(entry.getValue());
            }
            return found;
        });
    }

    private int destroy(Graph graph) {
        nodes -= graph.nodes();
        return JCudaDriver.cuGraphExecDestroy(graph.exec());
    }

    /**
     * Destroys all graphs, none of which is in flight.
     *
     * @return results of the driver
     */
    List<Integer> free() {
        List<Integer> results = graphs.values().stream().map(this::destroy).toList();
        graphs.clear();
        return results;
    }
}
