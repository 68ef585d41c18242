package dev.banyan.cuda.internal.job;

import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.reduce.internal.processes.Exchange;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.schedule.internal.program.DirectExchange;
import dev.banyan.topology.Machine;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The GPU of each rank of a job, by its bus id: a process may see only some of the machine's GPUs, and number them as
 * it likes (CUDA_VISIBLE_DEVICES).
 */
public final class JobGpus {
    private static final Logger LOG = LoggerFactory.getLogger(JobGpus.class);

    private final Job job;
    private final List<String> busIds = new ArrayList<>();
    /** By bus id. */
    private final Map<String, String> models = new TreeMap<>();

    private boolean multicasts = true;

    /**
     * Waits for the bus ids and models of the others.
     *
     * @param devices the device of each rank of this process
     * @throws IllegalStateException in all processes, if the driver shares no memory of a GPU
     */
    public JobGpus(Job job, Exchange exchange, int... devices) {
        this.job = job;
        List<String> visible = CudaDevices.busIds();
        List<String> own = Arrays.stream(devices)
                .mapToObj(device -> device >= 0 && device < visible.size()
                        ? visible.get(device) + " " + CudaDevices.givesDescriptors(device) + " "
                                + CudaDevices.multicasts(device) + " " + CudaDevices.model(device)
                        : " true false ")
                .toList();
        for (byte[] given : exchange.swap("joining", String.join("\n", own).getBytes(StandardCharsets.UTF_8))) {
            for (String gpu : new String(given, StandardCharsets.UTF_8).split("\n", -1)) {
                String[] words = gpu.split(" ", 4);
                if (!Boolean.parseBoolean(words[1])) {
                    throw new IllegalStateException("the driver of the GPU of rank " + busIds.size() + ", " + words[3]
                            + ", lets no other process share its memory"
                            + " (CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED is 0); hold all ranks"
                            + " in one process");
                }
                busIds.add(words[0]);
                multicasts &= Boolean.parseBoolean(words[2]);
                models.put(words[0], words[3]);
            }
        }
    }

    /** Logs a warning if two processes have the same GPU. */
    public void warnOfSharing() {
        sharing()
                .ifPresent(shared -> LOG.warn(
                        "{}, which gives each process its turn; such calls are slow: start a"
                                + " process for each GPU, or let one process hold these ranks",
                        shared));
    }

    /** @throws IllegalStateException if two processes have the same GPU */
    public void refuseSharing() {
        sharing().ifPresent(shared -> {
            throw new IllegalStateException(shared);
        });
    }

    private Optional<String> sharing() {
        for (int rank = 0; rank < busIds.size(); rank++) {
            int first = busIds.indexOf(busIds.get(rank));
            if (job.processOf(first) != job.processOf(rank)) {
                return Optional.of(
                        "ranks " + first + " and " + rank + " of two processes are on one GPU, " + busIds.get(rank));
            }
        }
        return Optional.empty();
    }

    /** Returns how many GPUs of which models hold all ranks. */
    String models() {
        return CudaDevices.counted(models.values().stream());
    }

    /** Returns whether a switch adds up for all GPUs, none of which has two ranks. */
    boolean multicasts() {
        return multicasts
                && DirectExchange.takesSwitch(busIds.size())
                && busIds.stream().distinct().count() == busIds.size();
    }

    /** Returns the place of each rank, see {@link Ranks}. */
    int[] places() {
        Set<String> distinct = new LinkedHashSet<>();
        List<String> keys = IntStream.range(0, busIds.size())
                .mapToObj(rank -> job.processOf(rank) + " " + busIds.get(rank))
                .toList();
        distinct.addAll(keys);
        List<String> order = List.copyOf(distinct);
        return keys.stream().mapToInt(order::indexOf).toArray();
    }

    /**
     * Returns the machine with a device for each rank: those of the ranks' bus ids, or all of a machine that has as
     * many and does not know them.
     *
     * @throws IllegalArgumentException if it has another number of devices
     */
    public Machine machine(Machine whole) {
        List<OptionalInt> found = busIds.stream().map(whole::deviceAt).toList();
        boolean isKnown = found.stream().allMatch(OptionalInt::isPresent)
                && found.stream().distinct().count() == found.size();
        if (isKnown) {
            return whole.subset(found.stream().mapToInt(OptionalInt::getAsInt).toArray());
        }
        if (whole.size() == busIds.size()) {
            return whole;
        }
        throw new IllegalArgumentException("the processes of this job hold " + busIds.size() + " ranks on the GPUs "
                + busIds + ", which " + whole.name() + " of " + whole.size()
                + " devices does not describe; give a machine with these bus ids, or one with a device for each rank");
    }
}
