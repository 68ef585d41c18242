package dev.banyan.reduce.internal.host;

import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.reduce.internal.processes.JobPlace;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A process that joins with one rank, prints that, and makes a call when the server at the port of its second argument
 * hangs up. Only the call has a short timeout, so that nothing before it can be late.
 */
public final class StoppedProgram {
    private static final Duration LONG = Duration.ofMinutes(15);
    private static final Duration SHORT = Duration.ofMillis(200);

    private StoppedProgram() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] arguments) throws IOException {
        int processes = Integer.parseInt(arguments[0]);
        int port = Integer.parseInt(arguments[1]);
        Config config = Config.load();
        Job job = Job.join(JobPlace.find(config, System.getenv()), 1, "", LONG.toNanos());
        Communicator joined = Communicator.create(
                Machine.preset("p3.16xlarge")
                        .subset(IntStream.range(0, processes).toArray()),
                config,
                ProcessBackend.join(job, LONG, SHORT));
        MemorySegment buffer = joined.allocate(joined.firstRank(), 4);
        System.out.println("joined");
        try (Socket server = new Socket(InetAddress.getLoopbackAddress(), port)) {
            int _ = server.getInputStream().read();
        }
        try {
            joined.allReduce(List.of(buffer), 1, DataType.F32, ReduceOp.SUM);
        } catch (RuntimeException e) {
            System.out.println("failed: " + e.getMessage());
        }
    }
}
