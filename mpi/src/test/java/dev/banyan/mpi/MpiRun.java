package dev.banyan.mpi;

import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Runs a program of the tests in several processes under mpirun, with settings. */
final class MpiRun {
    private final Processes starter;
    private final int processes;
    private final List<String> mpiOptions = new ArrayList<>();
    private final List<String> settings = new ArrayList<>(List.of("-DBANYAN_CHECK_ORDER=1"));
    private final Map<String, String> environment = new TreeMap<>();

    MpiRun(Processes starter, int processes) {
        this.starter = starter;
        this.processes = processes;
    }

    /**
     * The end of a run.
     *
     * @param status of mpirun
     * @param text all that was written
     */
    record Outcome(int status, String text) {
        /** Returns how many lines hold the words. */
        long lines(String words) {
            return text.lines().filter(line -> line.contains(words)).count();
        }
    }

    /** Sets a setting, as a property. */
    MpiRun with(String name, Object value) {
        settings.add("-D" + name + "=" + value);
        return this;
    }

    /** Lets mpirun leave the other processes alone when one dies. */
    MpiRun leavingOthersAlone() {
        mpiOptions.addAll(List.of("--mca", "orte_abort_on_non_zero_status", "0", "--enable-recovery"));
        return this;
    }

    /** Sets a variable of the environment. */
    MpiRun in(String variable, Object value) {
        environment.put(variable, value.toString());
        return this;
    }

    /** Runs the program, and returns when mpirun and all processes that printed their pid have ended. */
    Outcome run(Class<?> program, String... arguments) throws IOException, InterruptedException {
        List<String> java = Processes.java(settings, program.getName(), arguments);
        // A single process is a world of its own.
        ProcessBuilder builder =
                processes == 1 ? new ProcessBuilder(java) : starter.mpirun(processes, mpiOptions, java);
        builder.environment().putAll(environment);
        TestProcess run = starter.start(builder);
        int status = run.await();
        String text = run.out() + run.err();
        text.lines().filter(line -> line.startsWith("pid ")).forEach(MpiRun::awaitEnd);
        return new Outcome(status, text);
    }

    private static void awaitEnd(String line) {
        ProcessHandle.of(Long.parseLong(line.substring(4).strip()))
                .ifPresent(process -> process.onExit().join());
    }

    /** Programs begin with it. */
    static void printPid() {
        System.out.println("pid " + ProcessHandle.current().pid());
    }

    /** Ends a program that failed, without a farewell to the other processes. */
    static void fail(Throwable failure) {
        failure.printStackTrace(System.out);
        System.exit(1);
    }
}
