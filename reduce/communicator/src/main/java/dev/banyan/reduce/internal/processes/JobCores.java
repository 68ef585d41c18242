package dev.banyan.reduce.internal.processes;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;

/**
 * Counts the cores of a job. A launcher may bind each process to a core of its own, so that none of them sees more than
 * one core, though all of them run at once.
 */
final class JobCores {
    private static final String ALLOWED = "Cpus_allowed_list:";

    private JobCores() {}

    /**
     * Returns the number of cores on which at least one of some processes may run, but no more than the quota of this
     * process's container allows.
     */
    static int count(List<ProcessId> processes) {
        int available = Runtime.getRuntime().availableProcessors();
        BitSet all = new BitSet();
        try {
            boolean hasQuota =
                    available < allowed(ProcessHandle.current().pid()).cardinality();
            for (ProcessId process : processes) {
                all.or(allowed(process.pid()));
            }
            return hasQuota ? Math.min(available, all.cardinality()) : all.cardinality();
        } catch (IOException _) {
            // A process has just ended, or the kernel hides the others: this process's cores are what is known.
            return available;
        }
    }

    private static BitSet allowed(long pid) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/status"))) {
            if (line.startsWith(ALLOWED)) {
                return parse(line.substring(ALLOWED.length()).strip());
            }
        }
        throw new IOException("/proc/" + pid + "/status names no cores");
    }

    /** Returns the numbers of a list as {@code 0-3,8}. */
    static BitSet parse(String list) {
        BitSet cores = new BitSet();
        for (String range : list.split(",", -1)) {
            int dash = range.indexOf('-');
            int first = Integer.parseInt(dash < 0 ? range : range.substring(0, dash));
            int last = dash < 0 ? first : Integer.parseInt(range.substring(dash + 1));
            cores.set(first, last + 1);
        }
        return cores;
    }
}
