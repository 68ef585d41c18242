package dev.banyan.topology.internal.nccl;

import dev.banyan.config.internal.Quote;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.internal.speed.SpeedChoice;
import dev.banyan.topology.internal.text.BusId;
import dev.banyan.topology.internal.text.GpuProduct;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Resolves the {@code nvlink}, {@code xgmi} and {@code c2c} elements of the GPUs of one file: direct links between
 * devices, links to NVSwitches and to CPUs. Used once.
 *
 * <p>All NVSwitches are one hub, as NCCL takes them (ncclTopoAddNvLinks) and as the presets have them: the hardware
 * spreads each transfer over all of them by address. How many lanes lead to which is kept on the devices, under
 * {@link NcclNames#NVSWITCHES}.
 */
final class NcclGpuLinks {
    /** More than any device has; a bound for files that were damaged or made up. */
    private static final int MAX_COUNT = 1024;

    private static final Predicate<String> NO_IDENTITY =
            Pattern.compile("f+:f+:f+\\.[0f]").asMatchPredicate();

    private final List<NcclXmlReader.DeviceDraft> devices;
    private final List<String> names;
    private final int hubs;
    private final SpeedChoice choice;
    private final Warnings warnings;

    private final Map<String, List<Integer>> byBusId = new HashMap<>();
    private final Map<Ends, Pair> pairs = new TreeMap<>();
    /** Device, then bus id of an NVSwitch. */
    private final Map<Integer, Map<String, Lanes>> toSwitches = new TreeMap<>();

    private final Map<Integer, Map<String, Lanes>> throughPeers = new TreeMap<>();
    private final List<Link> toCpus = new ArrayList<>();
    private final Map<String, Integer> dangling = new LinkedHashMap<>();
    /** By device: how many of its links lead to what is not in the file. */
    private final Map<Integer, Integer> danglingOf = new HashMap<>();

    /**
     * @param devices in their final order
     * @param names of the devices
     * @param hubs hubs that the file describes; NVSwitches come after them
     */
    NcclGpuLinks(
            List<NcclXmlReader.DeviceDraft> devices,
            List<String> names,
            int hubs,
            SpeedChoice choice,
            Warnings warnings) {
        this.devices = devices;
        this.names = names;
        this.hubs = hubs;
        this.choice = choice;
        this.warnings = warnings;
    }

    /** Lanes seen from one end; the bandwidth where the file gives one. */
    private static final class Lanes {
        int count;
        double gbs;

        void add(int lanes, double bandwidth) {
            count += lanes;
            gbs += bandwidth;
        }
    }

    /** The two descriptions of one link, by its lower and by its higher device. */
    private static final class Pair {
        final Lanes fromLow = new Lanes();
        final Lanes fromHigh = new Lanes();
    }

    private record Ends(int low, int high, Link.Kind kind) implements Comparable<Ends> {
        private static final Comparator<Ends> ORDER =
                Comparator.comparingInt(Ends::low).thenComparingInt(Ends::high).thenComparing(Ends::kind);

        @Override
        public int compareTo(Ends other) {
            return ORDER.compare(this, other);
        }
    }

    void resolve() {
        for (int i = 0; i < devices.size(); i++) {
            NcclXmlReader.DeviceDraft device = devices.get(i);
            if (!device.busId().isEmpty()) {
                byBusId.computeIfAbsent(key(device, device.busId()), k -> new ArrayList<>())
                        .add(i);
            }
        }
        for (int i = 0; i < devices.size(); i++) {
            for (XmlElement element : devices.get(i).gpu().children) {
                switch (element.name) {
                    case "nvlink" -> readLink(i, element, Link.Kind.NVLINK);
                    case "xgmi" -> readLink(i, element, Link.Kind.XGMI);
                    case "c2c" -> readC2c(i, element);
                    default ->
                        warnings.add(element, "<" + Quote.of(element.name) + "> in <gpu> is not known and left out");
                }
            }
        }
        warnOfDistinctSwitches();
        mergePeers();
        keepLanesOfSwitches();
        dangling.forEach((target, count) -> warnings.add(count + (count == 1 ? " link leads" : " links lead")
                + " to " + target + ", which is not in the file (a GPU that was hidden from the job that wrote it?):"
                + " left out"));
        warnOfMissingLinks();
    }

    private static String key(NcclXmlReader.DeviceDraft device, String busId) {
        return device.host() + "|" + busId;
    }

    private void readLink(int from, XmlElement element, Link.Kind kind) {
        NcclXmlReader.DeviceDraft device = devices.get(from);
        String target = BusId.normalize(element.text("target"));
        String targetClass = element.text("tclass");
        int count = element.integer("count", 1);
        if (count < 0 || count > MAX_COUNT) {
            throw element.refuse(
                    "<" + element.name + "> has count=\"" + count + "\"; 0 to " + MAX_COUNT + " is needed");
        }
        if (count == 0) {
            warnings.add(element, "<" + element.name + "> has count=\"0\": left out");
            return;
        }
        double gbs = element.bandwidth().orElse(count * laneGbs(device, kind));
        List<Integer> targets = byBusId.getOrDefault(key(device, target), List.of());
        boolean toSwitch = targetClass.startsWith(NcclNames.CLASS_NVSWITCH);
        if (!target.isEmpty() && target.equals(device.busId())) {
            warnings.add(element, names.get(from) + " has a link to itself: left out");
        } else if (targetClass.startsWith(NcclNames.CLASS_CPU_NVLINK)) {
            addCpuLink(from, Link.Kind.NVLINK, count, gbs);
        } else if (toSwitch && !targets.isEmpty()) {
            throughPeers
                    .computeIfAbsent(from, k -> new TreeMap<>())
                    .computeIfAbsent(target, k -> new Lanes())
                    .add(lanesOfOne(from, count), gbs / sharers(from));
        } else if (toSwitch) {
            toSwitches
                    .computeIfAbsent(from, k -> new LinkedHashMap<>())
                    .computeIfAbsent(target.isEmpty() ? NcclNames.UNKNOWN_NVSWITCH : target, k -> new Lanes())
                    .add(lanesOfOne(from, count), gbs / sharers(from));
        } else if (targets.size() == 1) {
            addPair(from, targets.getFirst(), kind, count, gbs);
        } else if (targets.isEmpty()) {
            addDangling(from, element, target);
        } else {
            throw element.refuse("the link leads to bus id " + Quote.of(target) + ", which "
                    + targets.size()
                    + " GPUs share, so it is not known to which; give each GPU a bus id of its own or"
                    + " remove the links");
        }
    }

    private void addPair(int from, int to, Link.Kind kind, int count, double gbs) {
        Pair pair = pairs.computeIfAbsent(new Ends(Math.min(from, to), Math.max(from, to), kind), k -> new Pair());
        (from < to ? pair.fromLow : pair.fromHigh).add(count, gbs);
    }

    private void addCpuLink(int from, Link.Kind kind, int count, double gbs) {
        int socket = devices.size() + devices.get(from).socket();
        toCpus.add(Link.duplex(from, socket, kind, lanesOfOne(from, count), gbs / sharers(from), LinkSpeeds.NVLINK_US));
    }

    /** Returns how many GPUs of the file are on the function of this one, whose links they share. */
    private int sharers(int device) {
        return devices.get(device).sharers();
    }

    private int lanesOfOne(int device, int count) {
        return Math.max(1, count / sharers(device));
    }

    /**
     * NVLink-C2C between a Grace CPU and its GPU: {@code count} links of {@code bw} MB/s each. GPUs reach no other GPU
     * by it but through the CPU, so that it is no NVLink here.
     */
    private void readC2c(int from, XmlElement element) {
        int count = element.integer("count", 1);
        int megabytes = element.integer("bw", 0);
        if (count < 1 || count > MAX_COUNT || megabytes < 0) {
            throw element.refuse("<c2c> has count=\"" + count + "\" and bw=\"" + megabytes + "\"; 1 to " + MAX_COUNT
                    + " links of some MB/s are needed");
        }
        Map<String, String> attributes = devices.get(from).attributes();
        NcclNames.putAll(attributes, NcclNames.C2C, element.attributes);
        addCpuLink(from, Link.Kind.SOCKET, count, count * (megabytes / 1000.0));
    }

    private void addDangling(int from, XmlElement element, String target) {
        dangling.merge(target.isEmpty() ? "no bus id" : Quote.of(target), 1, Integer::sum);
        Map<String, String> attributes = devices.get(from).attributes();
        int number = danglingOf.merge(from, 1, Integer::sum) - 1;
        String prefix = NcclNames.DANGLING + number + ".";
        attributes.put(prefix + NcclNames.ELEMENT, element.name);
        NcclNames.putAll(attributes, prefix, element.attributes);
    }

    /**
     * Some hypervisors' files name every other GPU as an NVSwitch and give each all lanes: a GPU that reaches each
     * of seven peers over 18 lanes has 18, not 126. They become one switch.
     */
    private void mergePeers() {
        if (throughPeers.isEmpty()) {
            return;
        }
        warnings.add("links to other GPUs have the class of an NVSwitch (" + NcclNames.CLASS_NVSWITCH
                + "): they are taken as one NVSwitch between the GPUs, with as many lanes per GPU as its widest such"
                + " link has");
        throughPeers.forEach((device, peers) -> {
            Lanes widest = peers.values().stream()
                    .max(Comparator.comparingInt(lanes -> lanes.count))
                    .orElseThrow();
            toSwitches
                    .computeIfAbsent(device, k -> new LinkedHashMap<>())
                    .computeIfAbsent(NcclNames.UNKNOWN_NVSWITCH, k -> new Lanes())
                    .add(widest.count, widest.gbs);
        });
    }

    /** The bus ids of all NVSwitches, in order. */
    private Set<String> switchIds() {
        Set<String> ids = new TreeSet<>();
        toSwitches.values().forEach(lanes -> ids.addAll(lanes.keySet()));
        return ids;
    }

    private void warnOfDistinctSwitches() {
        switchIds().stream()
                .filter(NO_IDENTITY)
                .forEach(id ->
                        warnings.add("the NVSwitches have no bus id of their own (" + id + "): they are taken as one"));
        for (int a : toSwitches.keySet()) {
            for (int b : toSwitches.keySet()) {
                if (Collections.disjoint(lanesOf(a).keySet(), lanesOf(b).keySet())) {
                    warnings.add(names.get(a) + " and " + names.get(b)
                            + " reach different NVSwitches: all NVSwitches are taken as one, as NCCL takes them");
                    return;
                }
            }
        }
    }

    private Map<String, Lanes> lanesOf(int device) {
        return toSwitches.getOrDefault(device, Map.of());
    }

    private void keepLanesOfSwitches() {
        if (switchIds().size() > 1) {
            toSwitches.forEach((device, lanes) -> devices.get(device)
                    .attributes()
                    .put(
                            NcclNames.NVSWITCHES,
                            lanes.entrySet().stream()
                                    .map(end -> end.getKey() + " " + end.getValue().count)
                                    .collect(Collectors.joining(", "))));
        }
    }

    /** Names the GPUs that have fewer links than others of their generation, as a fault leaves them. */
    private void warnOfMissingLinks() {
        int[] own = new int[devices.size()];
        toSwitches.forEach((device, lanes) -> own[device] += sum(lanes).count);
        pairs.forEach((ends, pair) -> {
            own[ends.low] += pair.fromLow.count + pair.fromHigh.count;
            own[ends.high] += pair.fromLow.count + pair.fromHigh.count;
        });
        for (int device = 0; device < own.length; device++) {
            int like = device;
            int[] others = IntStream.range(0, own.length)
                    .filter(other -> generation(other) == generation(like) && own[other] > 0)
                    .map(other -> own[other])
                    .toArray();
            int usual = Arrays.stream(others).max().orElse(0);
            // Cards that bridges join in pairs are no group of which another card would be part.
            boolean isGroup = !toSwitches.isEmpty() || (others.length > 2 && 2 * others.length > own.length);
            if (!isGroup || own[device] >= usual || danglingOf.containsKey(device)) {
                continue;
            }
            if (own[device] == 0) {
                warnings.add(called(device) + " has no NVLink in the file, where others of its generation have "
                        + (toSwitches.isEmpty() ? "some" : String.valueOf(usual))
                        + ": its NVLinks or the GPU failed; look at \"nvidia-smi nvlink -s\" and reset it");
            } else if (!toSwitches.isEmpty()) {
                warnings.add(called(device) + " has " + own[device] + " NVLinks where others have " + usual
                        + ": taken as they are; look at \"nvidia-smi nvlink -s\"");
            }
        }
    }

    private int generation(int device) {
        return devices.get(device).gpu().integer("sm", 0);
    }

    /** The name of a device, with its rank and what its own host calls it. */
    private String called(int device) {
        String name = names.get(device);
        String rank = devices.get(device).gpu().text("rank");
        String dev = devices.get(device).gpu().text("dev");
        List<String> also = new ArrayList<>(rank.isEmpty() ? List.of() : List.of("rank " + rank));
        if (!dev.isEmpty() && !name.equals("GPU" + dev)) {
            also.add("GPU" + dev + " of its host");
        }
        return also.isEmpty() ? name : name + " (" + String.join("; ", also) + ")";
    }

    private static Lanes sum(Map<String, Lanes> lanes) {
        Lanes sum = new Lanes();
        lanes.values().forEach(each -> sum.add(each.count, each.gbs));
        return sum;
    }

    private double laneGbs(NcclXmlReader.DeviceDraft device, Link.Kind kind) {
        if (kind == Link.Kind.XGMI) {
            String architecture = device.gpu().text("gcn");
            return architecture.isEmpty()
                    ? choice.linkGbs(LinkSpeeds.xgmiLaneGbs(""), "xGMI link (MI200's)")
                    : LinkSpeeds.xgmiLaneGbs(architecture);
        }
        int sm = device.gpu().integer("sm", 0);
        return sm > 0 ? LinkSpeeds.nvlinkLaneGbs(sm) : choice.linkGbs(LinkSpeeds.nvlinkLaneGbs(0), "NVLink");
    }

    /** Returns whether no GPU of the file has an element of a link. */
    boolean listsNone() {
        return devices.stream().allMatch(device -> device.gpu().children.isEmpty());
    }

    /** The hub of the NVSwitches; empty if there are none. */
    List<Hub> switches() {
        Set<String> ids = switchIds();
        if (ids.isEmpty()) {
            return List.of();
        }
        boolean reduces = toSwitches.keySet().stream().allMatch(this::isOfReducingGeneration);
        if (ids.size() > 1) {
            return List.of(new Hub("NVSwitch", Hub.Kind.NVSWITCH, reduces, Map.of()));
        }
        String id = ids.iterator().next();
        return List.of(new Hub("NVSwitch " + id, Hub.Kind.NVSWITCH, reduces, Map.of(NcclNames.BUSID, id)));
    }

    private boolean isOfReducingGeneration(int device) {
        int sm = devices.get(device).gpu().integer("sm", 0);
        return (sm > 0 ? sm : choice.product().map(GpuProduct::sm).orElse(0)) >= Hub.FIRST_REDUCING_SM;
    }

    /** Links between devices, then those to NVSwitches, then those to CPUs. */
    List<Link> links() {
        List<Link> links = new ArrayList<>();
        pairs.forEach((ends, pair) -> links.add(link(ends.low, ends.high, ends.kind, pair)));
        int hub = devices.size() + hubs;
        toSwitches.forEach((device, lanes) -> {
            Lanes sum = sum(lanes);
            double us = LinkSpeeds.nvswitchUs(devices.get(device).gpu().integer("sm", 0));
            links.add(Link.duplex(device, hub, Link.Kind.NVLINK, sum.count, sum.gbs, us));
        });
        links.addAll(toCpus);
        return links;
    }

    /** The lesser count holds if the two ends disagree: the rest of the links cannot be up at both ends. */
    private Link link(int low, int high, Link.Kind kind, Pair pair) {
        Lanes a = pair.fromLow;
        Lanes b = pair.fromHigh;
        if (a.count == 0 || b.count == 0) {
            Lanes only = a.count == 0 ? b : a;
            warnings.add(names.get(low) + " and " + names.get(high) + ": only one of the two lists the link of "
                    + only.count + " lanes; it is taken as there");
            return Link.duplex(low, high, kind, only.count, only.gbs, LinkSpeeds.NVLINK_US);
        }
        if (a.count != b.count) {
            warnings.add(names.get(low) + " and " + names.get(high) + " say that " + a.count + " and " + b.count
                    + " lanes link them: the lesser is taken");
            double gbs = Math.min(a.gbs, b.gbs);
            return Link.duplex(low, high, kind, Math.min(a.count, b.count), gbs, LinkSpeeds.NVLINK_US);
        }
        return new Link(low, high, kind, a.count, a.gbs, b.gbs, LinkSpeeds.NVLINK_US);
    }
}
