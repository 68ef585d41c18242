package dev.banyan.reduce.internal.processes;

import dev.banyan.config.Config;
import dev.banyan.config.Setting;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The place of this process in its job, by settings or by the names that launchers set.
 *
 * @param process 0..processes-1
 * @param processes at least 1
 * @param meeting the folder where the processes meet
 */
public record JobPlace(int process, int processes, String meeting) {
    /** The number of this process. */
    public static final Setting<Integer> RANK = number(
            "BANYAN_RANK", 0, "the launcher's number", "Numbers this process among those that join a communicator.");

    /** The number of processes. */
    public static final Setting<Integer> WORLD_SIZE =
            number("BANYAN_WORLD_SIZE", 1, "the launcher's number", "Counts the processes that join a communicator.");

    /** Names the folder where processes meet. */
    public static final Setting<String> RENDEZVOUS = Setting.text(
                    "BANYAN_RENDEZVOUS",
                    "a folder of this user's own",
                    "a folder named after the launcher's job",
                    "Names the folder where the processes of a job find each other, one for each job.")
            .outsideFiles();

    /** Names of launchers, of the process's number and the number of processes on this machine. */
    private static final List<List<String>> LAUNCHERS = List.of(
            List.of("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
            List.of("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
            List.of("SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
            List.of("LOCAL_RANK", "LOCAL_WORLD_SIZE"));

    /** Names of launchers that differ between the jobs of a machine. */
    private static final List<String> JOBS = List.of(
            "PMIX_NAMESPACE",
            "OMPI_MCA_ess_base_jobid",
            "SLURM_STEP_ID",
            "SLURM_JOB_ID",
            "TORCHELASTIC_RUN_ID",
            "MASTER_PORT");

    private static Setting<Integer> number(String name, int least, String defaultText, String meaning) {
        return Setting.wholeNumber(name, "", least, 1 << 16, least, meaning)
                .withDefaultText(defaultText)
                .outsideFiles();
    }

    /** Returns whether settings or environment number this process. */
    public static boolean isGiven(Config config, Map<String, String> environment) {
        return config.find(RANK).isPresent() || launcher(environment).isPresent();
    }

    private static Optional<List<String>> launcher(Map<String, String> environment) {
        return LAUNCHERS.stream()
                .filter(names -> environment.containsKey(names.getFirst()) && environment.containsKey(names.getLast()))
                .findFirst();
    }

    /**
     * Returns the place that settings and environment give.
     *
     * @throws IllegalStateException if they give none, or one without sense
     */
    public static JobPlace find(Config config, Map<String, String> environment) {
        Optional<List<String>> launcher = launcher(environment);
        int process = config.find(RANK)
                .or(() -> launcher.map(names -> parsed(environment, names.getFirst())))
                .orElseThrow(() -> new IllegalStateException(
                        "this process has no number in its job; set BANYAN_RANK and BANYAN_WORLD_SIZE, or start it by"
                                + " mpirun, srun or torchrun"));
        int processes = config.find(WORLD_SIZE)
                .or(() -> launcher.map(names -> parsed(environment, names.getLast())))
                .orElseThrow(() -> new IllegalStateException(
                        "the number of processes of this job is unknown; set BANYAN_WORLD_SIZE"));
        if (process >= processes) {
            throw new IllegalStateException("process " + process + " of a job of " + processes
                    + "; BANYAN_RANK must be less than BANYAN_WORLD_SIZE");
        }
        String meeting = config.find(RENDEZVOUS).orElseGet(() -> folder(environment));
        if (meeting.contains("://")) {
            throw new IllegalStateException(
                    "BANYAN_RENDEZVOUS is " + meeting + ", which is an address; give a folder of your own instead");
        }
        return new JobPlace(process, processes, meeting);
    }

    private static int parsed(Map<String, String> environment, String name) {
        String text = Objects.requireNonNull(environment.get(name));
        try {
            return Integer.parseUnsignedInt(text.strip());
        } catch (NumberFormatException e) {
            throw new IllegalStateException(name + " is '" + text + "', which is no number", e);
        }
    }

    /** Returns a folder that only processes of the launcher's job take. */
    private static String folder(Map<String, String> environment) {
        StringBuilder job = new StringBuilder();
        for (String name : JOBS) {
            String value = environment.get(name);
            if (value != null) {
                job.append(name).append('=').append(value).append(';');
            }
        }
        if (job.isEmpty()) {
            throw new IllegalStateException(
                    "the processes of this job have no place to meet; set BANYAN_RENDEZVOUS to a folder of its own");
        }
        return System.getProperty("java.io.tmpdir") + "/banyan-" + System.getProperty("user.name") + "-"
                + Long.toHexString(ControlBlock.fingerprint(job.toString()));
    }
}
