package readme;

// docs/mpi.md: begin
import dev.banyan.config.Config;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.StoreType;
import dev.banyan.mpi.World;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

class SeveralMachinesExample {
    public static void main(String[] args) {
        World world = World.open(Config.load());
        try (Communicator local = Communicator.onHost(Machine.preset("p3.8xlarge"), world.config());
                KVStore store = KVStore.builder(local).type(StoreType.DEPCHA).open()) {
            float[] weights = {1, 2, 3};
            List<MemorySegment> gradients = local.allocateAll(weights.length * (long) Float.BYTES);
            gradients.forEach(gradient -> gradient.setAtIndex(ValueLayout.JAVA_FLOAT, 0, 1));
            store.init(
                    Key.of(0),
                    MemorySegment.ofArray(weights),
                    weights.length,
                    DataType.F32); // rank 0's, in all processes
            store.pushPull(Key.of(0), gradients, gradients).join(); // the sum over all devices of all processes
            System.out.println(gradients.get(0).getAtIndex(ValueLayout.JAVA_FLOAT, 0)); // 4.0 for each process
        }
        world.finish(); // only where all went well
    }
}
// docs/mpi.md: end
