package readme;

// README.md: begin
import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.format.MachineReader;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.IntStream;

class GpuExample {
    static void main() {
        var machine = new MachineReader().read(Path.of("topo.txt")); // made by nvidia-smi, in this folder
        int[] gpus = IntStream.range(0, machine.size()).toArray();
        try (var ranks = Communicator.onGpus(machine, Config.load(), gpus)) {
            float[] values = new float[100_000];
            var gradients = ranks.allocateAll(100_000L * Float.BYTES); // one buffer on each GPU
            for (int rank = 0; rank < ranks.size(); rank++) {
                Arrays.fill(values, rank);
                ranks.copyToDevice(gradients.get(rank), MemorySegment.ofArray(values));
            }
            ranks.allReduce(gradients, values.length, DataType.F32, ReduceOp.AVG); // in place, blocking
            ranks.copyToHost(gradients.getFirst(), MemorySegment.ofArray(values));
            IO.println(values[42]); // 0.5 on two GPUs, 3.5 on eight
        }
    }
}
// README.md: end
