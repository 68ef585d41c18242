package readme;

// docs/library.md: begin
import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

class AllReduceExample {
    public static void main(String[] args) {
        try (var ranks = Communicator.onHost(Machine.preset("p3.16xlarge"), Config.load())) {
            List<MemorySegment> gradients = ranks.allocateAll(1_000_000L * Float.BYTES); // one buffer per rank, zeroed
            gradients.get(3).setAtIndex(ValueLayout.JAVA_FLOAT, 42, 8f);
            ranks.allReduce(gradients, 1_000_000, DataType.F32, ReduceOp.AVG); // in place, blocking
            System.out.println(gradients.get(0).getAtIndex(ValueLayout.JAVA_FLOAT, 42)); // 1.0, on every rank
        }
    }
}
// docs/library.md: end
