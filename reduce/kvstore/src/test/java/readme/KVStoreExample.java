package readme;

// docs/kvstore.md: begin
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.StoreType;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

class KVStoreExample {
    static void main() {
        int[] layers = {784 * 128, 128 * 64, 64 * 10}; // parameters of each layer
        var gradients = new ArrayList<List<MemorySegment>>();
        var weights = new ArrayList<List<MemorySegment>>();
        try (var ranks = Communicator.onHost(Machine.preset("p3.8xlarge"));
                var store = KVStore.builder(ranks)
                        .type(StoreType.AUTO) // or DEVICE (parameter server), TREE, RING
                        .optimizer(Optimizer.sgd(0.5).momentum(0.5).gradientFactor(1.0 / ranks.size()))
                        .open()) {
            for (int layer = 0; layer < layers.length; layer++) {
                gradients.add(ranks.allocateAll((long) layers[layer] * Float.BYTES)); // an array for each rank
                weights.add(ranks.allocateAll((long) layers[layer] * Float.BYTES));
                store.init(Key.of(layer), MemorySegment.ofArray(new float[layers[layer]]), layers[layer], DataType.F32);
            }
            for (int step = 0; step < 3; step++) {
                for (int layer = layers.length - 1; layer >= 0; layer--) {
                    for (int rank = 0; rank < ranks.size(); rank++) { // stands for the backward pass of a layer
                        gradients.get(layer).get(rank).setAtIndex(ValueLayout.JAVA_FLOAT, 7, rank + step);
                    }
                    // The first layer is needed first.
                    var _ = store.pushPull(Key.of(layer), gradients.get(layer), weights.get(layer), -layer);
                }
                store.waitAll(); // waits, and throws the first failure
                IO.println(weights.getFirst().get(2).getAtIndex(ValueLayout.JAVA_FLOAT, 7)); // -0.75, -2.375, ...
            }
        }
    }
}
// docs/kvstore.md: end
