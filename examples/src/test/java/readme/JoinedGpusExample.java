package readme;

// docs/processes.md: begin
import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

class JoinedGpusExample {
    /** Runs in each of four processes, each of which sees a GPU of its own (CUDA_VISIBLE_DEVICES) as device 0. */
    public static void main(String[] args) {
        try (var joined = Communicator.joinOnGpus(Machine.preset("p3.8xlarge"), Config.load(), 0)) {
            float[] values = new float[100_000];
            Arrays.fill(values, joined.firstRank());
            List<MemorySegment> gradient = joined.allocateAll(values.length * (long) Float.BYTES);
            joined.copyToDevice(gradient.getFirst(), MemorySegment.ofArray(values));
            joined.allReduce(gradient, values.length, DataType.F32, ReduceOp.AVG);
            joined.copyToHost(gradient.getFirst(), MemorySegment.ofArray(values));
            System.out.println(values[42]); // 1.5 in every process
        }
    }
}
// docs/processes.md: end
