package dev.banyan.study.measured.sweep;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The run of a sweep, as its own header, columns and footer state it. Immutable.
 *
 * @param ranks the lines of ranks, as printed; empty if there is none
 * @param program the collective by nccl-tests' name, e.g. {@code all_reduce}, if the file names it
 * @param layout the collective by nccl-tests' name, as the columns and rates show it; empty if they do not
 * @param rates what the rates of the rows say about the number of ranks
 * @param wrong what the checks of the results say
 * @param stopped the line by which nccl-tests report that they stopped early
 * @param perProcess number of threads times GPUs of each, of a process; 0 if the file does not say
 * @param remarks how the rows were read, where that is not the usual way
 */
public record SweepRun(
        List<SweepRank> ranks,
        Optional<String> program,
        Optional<String> layout,
        SweepRates rates,
        WrongResults wrong,
        Optional<String> stopped,
        int perProcess,
        List<String> remarks) {
    /** A layout that two programs share where no results are checked. */
    public static final String GATHER_OR_ALLTOALL = "all_gather or alltoall";

    public SweepRun {
        ranks = List.copyOf(ranks);
        remarks = List.copyOf(remarks);
    }

    /** Returns the number of ranks of the header; 0 if it names none. */
    public int rankCount() {
        return ranks.stream().mapToInt(SweepRank::rank).max().orElse(-1) + 1;
    }

    /** Returns the names of the hosts, each once. */
    public List<String> hosts() {
        return ranks.stream().map(SweepRank::host).distinct().toList();
    }

    /** Returns the models of the GPUs, each once. */
    public List<String> models() {
        return ranks.stream().map(SweepRank::model).distinct().toList();
    }

    /** Returns the greatest number of ranks of one process; 0 if the file does not say. */
    public int devicesPerProcess() {
        if (ranks.isEmpty()) {
            return perProcess;
        }
        return ranks.stream()
                .collect(Collectors.groupingBy(rank -> List.of(rank.host(), rank.pid()), Collectors.counting()))
                .values()
                .stream()
                .mapToInt(Long::intValue)
                .max()
                .orElse(0);
    }
}
