package readme;

// docs/msccl.md: begin
import dev.banyan.msccl.MscclReader;
import dev.banyan.msccl.MscclRequests;
import dev.banyan.msccl.MscclWriter;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleTraffic;
import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.ScheduleLoads;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.network.Network;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

class MscclExample {
    /** Writes a schedule to the file that is named, reads it back and prints its rate. */
    public static void main(String[] args) throws IOException {
        Path file = Path.of(args[0]);
        Machine machine = Machine.preset("p3.16xlarge");
        Forest forest = new KernighanLin().generate(LinkMatrix.of(machine), 0, 1, 2, 3, 4, 5, 6, 7);
        int chunks = MscclRequests.equalChunks(forest, MscclRequests.USUAL_LIMIT);
        Schedule schedule = new ForestAlgorithm("multi-tree", forest)
                .schedule(MscclRequests.of(Collective.ALL_REDUCE, -1, chunks, false));
        Files.writeString(file, MscclWriter.write(schedule));

        try (InputStream in = Files.newInputStream(file)) {
            Schedule read = MscclReader.read(file.toString(), in);
            ScheduleTraffic traffic = ScheduleTraffic.of(read);
            double gbs =
                    ScheduleLoads.of(traffic, Network.of(machine)).rateGbs().doubleValue();
            System.out.println(gbs + " GB/s"); // 66.67 GB/s
        }
    }
}
// docs/msccl.md: end
