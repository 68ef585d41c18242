package readme;

// docs/processes.md: begin
import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.util.List;

class JoinedExample {
    /** Runs in each of four processes. */
    public static void main(String[] args) {
        try (var joined = Communicator.join(Machine.preset("p3.8xlarge"), Config.load(), 1)) {
            MemorySegment gradient = joined.allocate(joined.firstRank(), 1_000_000L * Float.BYTES);
            joined.allReduce(List.of(gradient), 1_000_000, DataType.F32, ReduceOp.AVG);
        }
    }
}
// docs/processes.md: end
