package dev.banyan.topology.internal.text;

import dev.banyan.config.internal.Quote;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The models of GPUs that a text names around its tables: lines {@code GPU 0: NAME} and {@code GPU 0,1: NAME} of
 * {@code nvidia-smi -L} and of reports of environments, the tables of nvidia-smi and amd-smi, and the lists of rocm-smi
 * and {@code amd-smi static}; and what such lists say beyond that.
 */
public final class ListedGpus {
    private static final int MAX_LINE = 1000;
    private static final int MAX_DEVICES = 1024;

    /** Begins like the name of a product. */
    private static final String NAME = "((?:NVIDIA|AMD|GRID|Tesla|GeForce|Quadro|TITAN|Radeon|Instinct|RTX|GTX)\\b"
            + "[^(\\n|]{0,80}|[^(\\n|]{1,80}(?= ?\\(UUID: ))";

    private static final Pattern LISTED = Pattern.compile(
            "(?<![\\w-])GPU ?(\\d{1,4}(?: {0,2}[,-] {0,2}\\d{1,4}){0,99})(?:: {0,9}|(?<=,\\d{1,4}) {2,40})" + NAME);

    private static final Pattern ROCM =
            Pattern.compile("GPU ?\\[(\\d{1,4})\\]\\s*: *(?:Card [Ss]eries|Card [Mm]odel|Device Name):\\s*" + NAME);
    private static final Pattern NVIDIA_TABLE =
            Pattern.compile("^\\| {1,4}(\\d{1,4}) {1,4}" + NAME.replace("{0,80}", "{0,80}?") + " +(?:On|Off|N/A) +\\|");
    private static final Pattern AMD_TABLE =
            Pattern.compile("^\\| *([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.\\d) +" + NAME);
    private static final Pattern AMD_GPU = Pattern.compile("^\\s*GPU: *(\\d{1,4})\\s*$");
    private static final Pattern AMD_NAME = Pattern.compile("^\\s*MARKET_NAME: *" + NAME);
    private static final Pattern INSTANCE = Pattern.compile("^\\s*MIG \\S{1,40}\\s+Device\\s+\\d{1,4}:");
    private static final Pattern LOST = Pattern.compile(
            "Unable to determine the device handle for ?(GPU ?[0-9a-f:.]{0,40})", Pattern.CASE_INSENSITIVE);

    private final Map<Integer, String> byIndex = new TreeMap<>();
    private final Map<String, String> byBusId = new HashMap<>();
    private final Set<Integer> partitioned = new TreeSet<>();
    private final List<String> lost = new ArrayList<>();

    private ListedGpus() {}

    /** Looks through the lines of a text. */
    public static ListedGpus in(List<String> lines) {
        ListedGpus found = new ListedGpus();
        int current = -1;
        for (String line : lines) {
            if (line.length() > MAX_LINE) {
                continue;
            }
            Matcher unreachable = LOST.matcher(line);
            if (unreachable.find()) {
                found.lost.add(unreachable.group(1).replaceFirst("[:.]+$", ""));
                continue;
            }
            if (INSTANCE.matcher(line).find() && current >= 0) {
                found.partitioned.add(current);
            }
            Matcher listed = LISTED.matcher(line);
            Matcher named = AMD_NAME.matcher(line);
            if (listed.find()) {
                current = found.add(listed.group(1), listed.group(2));
            } else if (named.find() && current >= 0) {
                found.add(Integer.toString(current), named.group(1));
            }
            Matcher gpu = AMD_GPU.matcher(line);
            if (gpu.matches()) {
                current = Integer.parseInt(gpu.group(1));
            }
            found.addFirst(ROCM.matcher(line));
            found.addFirst(NVIDIA_TABLE.matcher(line));
            Matcher table = AMD_TABLE.matcher(line);
            if (table.find()) {
                found.byBusId.putIfAbsent(
                        BusId.normalize(table.group(1)), table.group(2).strip());
            }
        }
        return found;
    }

    private void addFirst(Matcher matcher) {
        if (matcher.find()) {
            add(matcher.group(1), matcher.group(2));
        }
    }

    /** Returns the last index of a list such as {@code 0,1,4-7}. */
    private int add(String indices, String model) {
        int last = -1;
        for (String part : indices.split(",", -1)) {
            String[] ends = part.strip().split(" *- *", -1);
            int first = Integer.parseInt(ends[0]);
            last = Math.min(Integer.parseInt(ends[ends.length - 1]), MAX_DEVICES);
            for (int index = first; index <= last; index++) {
                byIndex.putIfAbsent(index, model.strip());
            }
        }
        return last;
    }

    /** Returns the model of a device, or null where the text names none. */
    public @Nullable String model(int index, @Nullable String busId) {
        String byId = busId == null ? null : byBusId.get(busId);
        return byId == null ? byIndex.get(index) : byId;
    }

    /**
     * Returns the products of all devices; empty where the model is not known. Where only some devices are listed and
     * these are of one model, the others are taken as equal.
     */
    public List<Optional<GpuProduct>> products(List<@Nullable String> busIds) {
        List<String> named = named(busIds);
        String only = named.stream().distinct().count() == 1 ? named.getFirst() : null;
        List<Optional<GpuProduct>> products = new ArrayList<>();
        for (int i = 0; i < busIds.size(); i++) {
            String model = model(i, busIds.get(i));
            products.add(Optional.ofNullable(model == null ? only : model).flatMap(GpuProduct::of));
        }
        return products;
    }

    private List<String> named(List<@Nullable String> busIds) {
        List<String> named = new ArrayList<>();
        for (int i = 0; i < busIds.size(); i++) {
            String model = model(i, busIds.get(i));
            if (model != null) {
                named.add(model);
            }
        }
        return named;
    }

    /** Returns whether a device is divided into MIG instances. */
    public boolean isPartitioned(int index) {
        return partitioned.contains(index);
    }

    /**
     * Returns a sentence for each oddity of the list.
     *
     * @param busIds of all devices of the machine, null where they are not known
     * @param stated the model that the user states, or empty
     */
    public List<String> warnings(List<@Nullable String> busIds, String stated) {
        List<String> warnings = new ArrayList<>();
        lost.forEach(
                gpu -> warnings.add("the driver has lost " + gpu + " (it can not determine its handle), so that GPU is"
                        + " left out; reset it or restart the machine, and describe the machine again"));
        Map<String, List<String>> gpus = new LinkedHashMap<>();
        for (int i = 0; i < busIds.size(); i++) {
            String model = model(i, busIds.get(i));
            if (model != null) {
                gpus.computeIfAbsent(model, key -> new ArrayList<>()).add("GPU" + i);
            }
        }
        gpus.forEach((model, names) -> {
            String who = String.join(", ", names) + (names.size() == 1 ? " is " : " are ") + Quote.of(model);
            if (!stated.isEmpty() && !GpuProduct.of(model).equals(GpuProduct.of(stated))) {
                warnings.add(who + " in the text, which is ignored, since " + Quote.of(stated) + " is stated");
            } else if (stated.isEmpty() && GpuProduct.of(model).isEmpty()) {
                warnings.add(who + ", a model that is not known: its speeds are assumed; state them");
            }
        });
        if (stated.isEmpty()
                && gpus.keySet().stream().map(GpuProduct::of).distinct().count() > 1) {
            warnings.add("the GPUs are of " + gpus.size() + " models ("
                    + String.join("; ", gpus.keySet().stream().map(Quote::of).toList())
                    + "): each pair is as fast as its slower model");
        }
        int named = named(busIds).size();
        if (stated.isEmpty() && gpus.size() == 1 && named < busIds.size()) {
            warnings.add("the text names the model of " + named + " of " + busIds.size()
                    + " GPUs: the others are taken as equal");
        }
        long more = byIndex.keySet().stream()
                .filter(index -> index >= busIds.size())
                .count();
        if (more > 0) {
            warnings.add("the text lists " + more + (more == 1 ? " GPU" : " GPUs") + " from GPU"
                    + byIndex.keySet().stream()
                            .filter(index -> index >= busIds.size())
                            .findFirst()
                            .orElseThrow()
                    + " on that the table does not have: left out");
        }
        return warnings;
    }
}
