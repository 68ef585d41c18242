package dev.banyan.simulate.internal.trace;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import jdk.jfr.ValueDescriptor;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/**
 * Banyan's events in one process, as JDK Flight Recorder kept them.
 *
 * @param process the process's name for people
 * @param rank its rank, where mpirun started it
 * @param slices in no order
 */
public record Recording(String process, OptionalInt rank, List<Slice> slices) {
    private static final String BANYAN = "dev.banyan.";
    /** The fields that every event has. */
    private static final List<String> COMMON = List.of("startTime", "duration", "eventThread", "stackTrace");

    /**
     * Something that took time.
     *
     * @param kind the events' kind, for people
     * @param name of this one
     * @param details its other fields, numbers and text
     */
    public record Slice(String kind, String name, Instant start, Instant end, Map<String, Object> details) {}

    /**
     * Reads a recording.
     *
     * @throws UncheckedIOException if it can't be read or is none
     * @throws IllegalArgumentException if Banyan did nothing in it
     */
    public static Recording read(Path file) {
        List<Slice> slices = new ArrayList<>();
        long process = -1;
        OptionalInt rank = OptionalInt.empty();
        try (RecordingFile recording = new RecordingFile(file)) {
            while (recording.hasMoreEvents()) {
                RecordedEvent event = recording.readEvent();
                String type = event.getEventType().getName();
                if (type.startsWith(BANYAN)) {
                    slices.add(slice(event));
                } else if (type.equals("jdk.JVMInformation")) {
                    process = event.getLong("pid");
                } else if (type.equals("jdk.InitialEnvironmentVariable")
                        && event.getString("key").equals("OMPI_COMM_WORLD_RANK")) {
                    rank = OptionalInt.of(Integer.parseInt(event.getString("value")));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "can't read " + file + " as a recording of JDK Flight Recorder: " + e.getMessage()
                            + "; record by -XX:StartFlightRecording=filename=FILE.jfr",
                    e);
        } catch (RuntimeException | InternalError e) {
            // The JDK's parser throws any of these for damaged bytes, InternalError for an unknown name of a type.
            throw new IllegalArgumentException(
                    file + " is a damaged recording of JDK Flight Recorder (" + e + "); record the run again", e);
        }
        if (slices.isEmpty()) {
            throw new IllegalArgumentException(file
                    + " has no event of Banyan: its process did nothing together with others; record one of those that"
                    + " mpirun started");
        }
        String name = process < 0 ? file.getFileName().toString() : "process " + process;
        return new Recording(rank.isPresent() ? "rank " + rank.getAsInt() + ", " + name : name, rank, slices);
    }

    private static Slice slice(RecordedEvent event) {
        String name = event.getEventType().getLabel();
        Map<String, Object> details = new LinkedHashMap<>();
        boolean named = false;
        for (ValueDescriptor field : event.getFields()) {
            if (COMMON.contains(field.getName())) {
                continue;
            }
            Object value = event.getValue(field.getName());
            if (!named && value instanceof String text) {
                // The first text says which one it is: the phase, the collective.
                name = text;
                named = true;
            } else if (value instanceof Number || value instanceof String || value instanceof Boolean) {
                details.put(field.getName(), value);
            }
        }
        return new Slice(event.getEventType().getLabel(), name, event.getStartTime(), event.getEndTime(), details);
    }
}
