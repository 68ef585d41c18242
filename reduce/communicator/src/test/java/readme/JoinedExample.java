package readme;

// docs/processes.md: begin
import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

class JoinedExample {
    /** Runs in each of four processes. */
    public static void main(String[] args) {
        try (var joined = Communicator.join(Machine.preset("p3.8xlarge"), Config.load(), 1)) {
            MemorySegment gradient = joined.allocate(joined.firstRank(), 1_000_000L * Float.BYTES);
            gradient.setAtIndex(ValueLayout.JAVA_FLOAT, 42, joined.firstRank());
            joined.allReduce(List.of(gradient), 1_000_000, DataType.F32, ReduceOp.AVG);
            System.out.println(gradient.getAtIndex(ValueLayout.JAVA_FLOAT, 42)); // 1.5 in every process
        }
    }
}
// docs/processes.md: end
