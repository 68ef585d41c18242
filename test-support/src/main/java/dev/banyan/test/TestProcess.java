package dev.banyan.test;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A process that a test started. Two daemon threads read its outputs as they come, so that it never waits for its
 * reader. Waits have no deadline of their own: the timeout of the test interrupts them. Any thread may call any method.
 */
public final class TestProcess {
    private static final int PRINTED_CHARS = 20_000;
    private static final long JSTACK_SECONDS = 20;

    private final String command;
    private final Process process;
    private final Output out;
    private final Output err;
    private volatile boolean stopped;

    TestProcess(ProcessBuilder builder) throws IOException {
        command = String.join(" ", builder.command());
        process = builder.start();
        process.getOutputStream().close();
        out = new Output(process.inputReader(StandardCharsets.UTF_8));
        err = new Output(process.errorReader(StandardCharsets.UTF_8));
    }

    /** Holds the text read from one output, and the position up to which somebody has waited. */
    private static final class Output {
        private final StringBuilder text = new StringBuilder();
        private int seen;
        private boolean ended;

        Output(BufferedReader reader) {
            Thread.ofPlatform().daemon().name("output of a test's process").start(() -> read(reader));
        }

        private void read(BufferedReader reader) {
            char[] chars = new char[1 << 13];
            try (reader) {
                for (int count = reader.read(chars); count >= 0; count = reader.read(chars)) {
                    append(new String(chars, 0, count));
                }
            } catch (IOException e) {
                append("(reading failed: " + e + ")\n");
            } finally {
                end();
            }
        }

        private synchronized void append(String more) {
            text.append(more);
            notifyAll();
        }

        private synchronized void end() {
            ended = true;
            notifyAll();
        }

        /** Returns false if the output ends without the line. */
        synchronized boolean awaitLine(String line) throws InterruptedException {
            while (true) {
                int end = text.indexOf("\n", seen);
                if (end >= 0) {
                    boolean found = text.substring(seen, end).equals(line);
                    seen = end + 1;
                    if (found) {
                        return true;
                    }
                } else if (ended) {
                    return false;
                } else {
                    wait();
                }
            }
        }

        synchronized String awaitEnd() throws InterruptedException {
            while (!ended) {
                wait();
            }
            return text.toString();
        }

        synchronized String tail() {
            int from = Math.max(0, text.length() - PRINTED_CHARS);
            return (from > 0 ? "(" + from + " characters before)\n" : "") + text.substring(from);
        }
    }

    public long pid() {
        return process.pid();
    }

    /**
     * Waits until the process has printed a line to its standard output, after the line of the last such wait.
     *
     * @throws AssertionError if the output ends without the line
     */
    public void awaitLine(String line) throws InterruptedException {
        if (!out.awaitLine(line)) {
            throw new AssertionError("the process ended before it printed: " + line);
        }
    }

    /** Waits until the process and its outputs have ended, and returns the exit status. */
    public int await() throws InterruptedException {
        int status = awaitExit();
        out.awaitEnd();
        err.awaitEnd();
        return status;
    }

    /** Waits until the process itself has ended; a descendant may still hold its outputs. */
    int awaitExit() throws InterruptedException {
        return process.waitFor();
    }

    /** Waits until standard output has ended, and returns all of it. */
    public String out() throws InterruptedException {
        return out.awaitEnd();
    }

    /** Waits until standard error has ended, and returns all of it. */
    public String err() throws InterruptedException {
        return err.awaitEnd();
    }

    /** Waits until standard output has ended, and returns its last line, or the empty string. */
    public String lastLine() throws InterruptedException {
        return out().lines().reduce("", (_, line) -> line);
    }

    /** Stops the process until it is killed. Its timers go on. */
    public void stop() throws IOException, InterruptedException {
        stopped = true;
        int status = new ProcessBuilder("kill", "-STOP", Long.toString(pid()))
                .inheritIO()
                .start()
                .waitFor();
        if (status != 0) {
            throw new AssertionError("kill -STOP " + pid() + " failed");
        }
    }

    /** Kills the process and its descendants. Does nothing if it has ended. */
    public void kill() {
        List<ProcessHandle> descendants = process.descendants().toList();
        process.destroyForcibly();
        descendants.forEach(ProcessHandle::destroyForcibly);
    }

    /** Returns what the process has written so far and, while it runs, what the threads of its JVMs do. */
    String report() throws IOException, InterruptedException {
        boolean alive = process.isAlive();
        StringBuilder report = new StringBuilder("process " + pid()
                + (alive ? stopped ? " (stopped)" : " (running)" : " (exit status " + process.exitValue() + ")") + ": "
                + command + "\n-- standard output\n" + out.tail() + "\n-- standard error\n" + err.tail() + "\n");
        if (alive && !stopped) {
            List<ProcessHandle> handles = new ArrayList<>(List.of(process.toHandle()));
            handles.addAll(process.descendants().toList());
            for (ProcessHandle handle : handles) {
                if (handle.info().command().orElse("").endsWith("java")) {
                    report.append(stacks(handle.pid()));
                }
            }
        }
        return report.toString();
    }

    private static String stacks(long pid) throws IOException, InterruptedException {
        Process jstack = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "jstack")
                                .toString(),
                        Long.toString(pid))
                .redirectErrorStream(true)
                .start();
        Output text = new Output(jstack.inputReader());
        if (!jstack.waitFor(JSTACK_SECONDS, TimeUnit.SECONDS)) {
            jstack.destroyForcibly();
        }
        return "-- threads of process " + pid + "\n" + text.awaitEnd();
    }
}
