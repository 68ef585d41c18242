package readme;

// docs/library.md: begin
import dev.banyan.config.Config;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;

class DataParallelExample {
    private static final long[] LAYERS = {784 * 128, 128 * 64, 64 * 10}; // parameters of each layer

    public static void main(String[] args) {
        try (var ranks = Communicator.onHost(Machine.preset("p3.8xlarge"), Config.load())) {
            List<List<MemorySegment>> gradients = LongStream.of(LAYERS)
                    .mapToObj(count -> ranks.allocateAll(count * Float.BYTES))
                    .toList();
            for (int step = 0; step < 3; step++) {
                List<CompletableFuture<Void>> pending = new ArrayList<>();
                for (int layer = LAYERS.length - 1; layer >= 0; layer--) {
                    backward(step, gradients.get(layer));
                    // The exchange of this layer overlaps the backward pass of the next.
                    pending.add(ranks.runAsync(
                            CollectiveCall.allReduce(gradients.get(layer), LAYERS[layer], DataType.F32, ReduceOp.AVG)));
                }
                pending.forEach(CompletableFuture::join);
                System.out.println(gradients.get(0).get(2).getAtIndex(ValueLayout.JAVA_FLOAT, 7)); // 1.5, 2.5, 3.5
            }
        }
    }

    /** Stands for the backward pass of one layer: every element of rank r's gradient becomes r + step. */
    private static void backward(int step, List<MemorySegment> gradients) {
        for (int rank = 0; rank < gradients.size(); rank++) {
            MemorySegment gradient = gradients.get(rank);
            for (long i = 0; i < gradient.byteSize() / Float.BYTES; i++) {
                gradient.setAtIndex(ValueLayout.JAVA_FLOAT, i, rank + step);
            }
        }
    }
}
// docs/library.md: end
