package dev.banyan.study.workload;

import dev.banyan.config.internal.BoundedInput;
import dev.banyan.config.internal.UnreadableFileException;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.Names;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The gradients of a model.
 *
 * @param name the model, e.g. {@code resnet-50}
 * @param elements elements of each key, from the input layer to the output layer
 */
public record Workload(String name, List<Long> elements) {
    /** The limit of the first bucket of PyTorch's DistributedDataParallel in bytes. */
    public static final long FIRST_BUCKET = 1 << 20;

    private static final long MOST_ELEMENTS = 10_000_000_000_000L;
    private static final String SMALL = "workloads.txt";

    public Workload {
        elements = List.copyOf(elements);
    }

    /** Number of keys. */
    public int keys() {
        return elements.size();
    }

    /** Elements of all keys. */
    public long totalElements() {
        return elements.stream().mapToLong(Long::longValue).sum();
    }

    /** All models by name, small ones first. */
    public static Map<String, Workload> all() {
        Map<String, Workload> all = new LinkedHashMap<>(table(SMALL));
        all.putAll(table("transformers.txt"));
        return all;
    }

    /** Models of which an iteration is simulated in seconds. */
    public static List<Workload> small() {
        return List.copyOf(table(SMALL).values());
    }

    private static Map<String, Workload> table(String name) {
        InputStream stream = Objects.requireNonNull(Workload.class.getResourceAsStream(name), name);
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
            return read(reader);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The gradients in buckets, as PyTorch's DistributedDataParallel sends them once it knows in which order they
     * become ready: the last layer's first. A bucket is sent when the gradient that is added makes it reach its limit,
     * so that a bucket may be longer than that, and a large gradient is sent with those that wait for it. Source:
     * compute_bucket_assignment_by_size of torch/csrc/distributed/c10d/reducer.cpp.
     *
     * @param firstBytes limit of the first bucket
     * @param bytes limit of the others
     * @param elementBytes bytes of an element
     */
    public Workload inBuckets(long firstBytes, long bytes, int elementBytes) {
        List<Long> buckets = new ArrayList<>();
        long waiting = 0;
        for (long gradient : elements.reversed()) {
            waiting += gradient;
            if (waiting * elementBytes >= (buckets.isEmpty() ? firstBytes : bytes)) {
                buckets.add(waiting);
                waiting = 0;
            }
        }
        if (waiting > 0) {
            buckets.add(waiting);
        }
        String limits = new ByteSize(bytes).label() + " or more"
                + (firstBytes < bytes ? ", the first of " + new ByteSize(firstBytes).label() + " or more" : "");
        return new Workload(name + " in buckets of " + limits, buckets);
    }

    /** The gradients of 4 bytes in buckets of the limits that PyTorch's DistributedDataParallel takes by itself. */
    public Workload inUsualBuckets() {
        return inBuckets(FIRST_BUCKET, 25 << 20, 4);
    }

    /** The same keys from the last to the first. */
    public Workload reversed() {
        return new Workload(name, elements.reversed());
    }

    /** A workload by its model's name, in any case, or out of a file. */
    public static Workload named(String name) {
        try {
            Path file = Path.of(name);
            return Files.exists(file) && !Files.isDirectory(file) ? read(file) : Names.find("workload", all(), name);
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException("'" + name + "' can be neither a workload nor a file's name", e);
        }
    }

    /**
     * Reads sizes from a table with commas: the last field of each line is a key's number of elements; a first line
     * without one is a heading, and lines that begin with # are left out.
     *
     * @throws IllegalArgumentException if it can't be read, or has no sizes
     */
    public static Workload read(Path file) {
        List<String> lines;
        try {
            lines = BoundedInput.USUAL.text(file).lines().toList();
        } catch (UnreadableFileException e) {
            throw new IllegalArgumentException(
                    file + ": " + e.reason() + "; name a table with a key's number of elements on each line", e);
        }
        List<Long> elements = new ArrayList<>();
        long total = 0;
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).strip();
            String field = line.substring(line.lastIndexOf(',') + 1).strip();
            if (!line.isEmpty() && !line.startsWith("#") && !(i == 0 && !field.matches("-?\\d+"))) {
                if (!field.matches("[1-9]\\d{0,12}")) {
                    throw new IllegalArgumentException(file + ", line " + (i + 1) + ": '" + field
                            + "' is no number of elements; write a key's number of elements on each line, at least 1,"
                            + " alone or as the last field with commas before it");
                }
                elements.add(Long.valueOf(field));
                total += elements.getLast();
                if (total > MOST_ELEMENTS) {
                    throw new IllegalArgumentException(file + ", line " + (i + 1) + ": the keys up to here have "
                            + total + " elements; a workload has at most " + MOST_ELEMENTS);
                }
            }
        }
        if (elements.isEmpty()) {
            throw new IllegalArgumentException(file + " has no sizes; write a key's number of elements on each line");
        }
        return new Workload(String.valueOf(file.getFileName()), elements);
    }

    private static Map<String, Workload> read(BufferedReader reader) throws IOException {
        Map<String, Workload> models = new LinkedHashMap<>();
        String[] header = {};
        List<Long> elements = new ArrayList<>();
        for (String line = reader.readLine(); ; line = reader.readLine()) {
            if (line == null || line.startsWith("model ")) {
                if (header.length > 0) {
                    models.put(header[1], checked(header, elements));
                }
                if (line == null) {
                    return models;
                }
                header = line.split(" ", -1);
                elements.clear();
            } else if (!line.isBlank() && !line.startsWith("#")) {
                int star = line.indexOf('*');
                List<Long> layer = new ArrayList<>();
                for (String run : line.substring(star + 1).strip().split(" ", -1)) {
                    int times = run.indexOf('x');
                    long count = Long.parseLong(times < 0 ? run : run.substring(0, times));
                    int repeat = times < 0 ? 1 : Integer.parseInt(run.substring(times + 1));
                    layer.addAll(Collections.nCopies(repeat, count));
                }
                for (int layers = star < 0 ? 1 : Integer.parseInt(line.substring(0, star)); layers > 0; layers--) {
                    elements.addAll(layer);
                }
            }
        }
    }

    private static Workload checked(String[] header, List<Long> elements) {
        Workload workload = new Workload(header[1], elements);
        if (workload.keys() != Integer.parseInt(header[2]) || workload.totalElements() != Long.parseLong(header[3])) {
            throw new IllegalStateException(header[1] + " has " + workload.keys() + " keys of "
                    + workload.totalElements() + " elements, not " + header[2] + " of " + header[3]);
        }
        return workload;
    }
}
