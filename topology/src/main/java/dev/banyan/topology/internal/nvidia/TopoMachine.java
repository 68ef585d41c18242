package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.Connection;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import dev.banyan.topology.Routes;
import dev.banyan.topology.internal.DisjointSets;
import dev.banyan.topology.internal.pcie.PcieHierarchy;
import dev.banyan.topology.internal.peer.RefusedPairs;
import dev.banyan.topology.internal.speed.AssumedLinks;
import dev.banyan.topology.internal.speed.CpuModel;
import dev.banyan.topology.internal.speed.GpuSpeeds;
import dev.banyan.topology.internal.speed.SpeedChoice;
import dev.banyan.topology.internal.text.GpuProduct;
import dev.banyan.topology.internal.text.ListedGpus;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Builds the machine that a {@code topo -m} table describes. For one table; not reusable.
 *
 * <p><b>PCIe.</b> A {@link PcieHierarchy} gives back the printed classes. NVLink hides the PCIe class of its
 * pairs; such GPUs are put together by the cards that they share, else into one socket if their NUMA node (or
 * CPU affinity) is the same and nothing says SYS between them.
 *
 * <p><b>NVLink.</b> NVk is the number of links of a pair, or of a device to the NVSwitches. The printed
 * class does not tell which; but no GPU has more than 18 links, and boards that link three or more GPUs
 * all to all without switches have at most 6 links per pair (4 A100: 4, 4 H100: 6). So a group of GPUs of
 * which one would need more than 18, or of three or more with the same NVk, k above 6, for all pairs, is
 * linked to NVSwitches: device by device, with as many lanes as its best pair shows. All other pairs are
 * direct.
 */
final class TopoMachine {
    private static final int MAX_LANES_PER_DEVICE = 18;
    private static final int MAX_LANES_TO_EACH_PEER = 6;
    private static final int MAX_LANES_NVLINK1 = 4;
    private static final int LANES_A100 = 12;
    private static final Pattern NUMBER = Pattern.compile("\\d{1,6}");

    private final TopoTable table;
    private final GpuSpeeds speeds;
    private final ListedGpus listed;
    private final CpuModel cpu;
    private final PeerStatements peers;
    /** NVLinks of the device that has the most, to switches or to all of its peers. */
    private int mostLanes;
    /** The same of those to switches. */
    private int mostSwitchLanes;

    private final List<Integer> gpus = new ArrayList<>();
    private final List<Integer> cards = new ArrayList<>();
    /** Per column of the table: device index, or the number of devices plus the card's index. */
    private final int[] endIndex;

    private final List<Device> devices = new ArrayList<>();
    private final List<Hub> hubs = new ArrayList<>();
    private final List<Link> links = new ArrayList<>();
    private final List<String> warnings;

    TopoMachine(TopoTable table, ListedGpus listed, CpuModel cpu, PeerStatements peers, StatedSpeeds stated) {
        this.table = table;
        this.listed = listed;
        this.cpu = cpu;
        this.peers = peers;
        warnings = new ArrayList<>(table.warnings());
        int ends = table.ends().size();
        for (int end = 0; end < ends; end++) {
            (table.isGpu(end) ? gpus : cards).add(end);
        }
        endIndex = new int[ends];
        for (int i = 0; i < ends; i++) {
            endIndex[i < gpus.size() ? gpus.get(i) : cards.get(i - gpus.size())] = i;
        }
        List<@Nullable String> busIds = new ArrayList<>(Collections.nCopies(gpus.size(), null));
        warnings.addAll(listed.warnings(busIds, stated.product()));
        speeds = new GpuSpeeds(stated, listed.products(busIds));
        warnings.addAll(speeds.warnings());
    }

    Machine build(String name) {
        for (int end : gpus) {
            TopoTable.Row row = row(end);
            Map<String, String> attributes = new LinkedHashMap<>();
            if (!row.cpus().isEmpty()) {
                attributes.put(TopoTextWriter.CPU_AFFINITY, row.cpus());
            }
            boolean node = NUMBER.matcher(row.numa()).matches();
            if (!node && !row.numa().isEmpty()) {
                attributes.put(TopoTextWriter.NUMA_AFFINITY, row.numa());
            }
            int index = devices.size();
            String model = listed.model(index, null);
            if (model != null) {
                attributes.put("model", model);
            }
            speeds.of(index)
                    .product()
                    .filter(product -> product.sm() > 0)
                    .ifPresent(product -> attributes.put("sm", Integer.toString(product.sm())));
            devices.add(new Device(table.ends().get(end), null, node ? Integer.parseInt(row.numa()) : -1, attributes));
        }
        addNvLinks();
        int[] attachment = addPcie();
        List<Nic> nics = new ArrayList<>();
        for (int end : cards) {
            String label = table.ends().get(end);
            String known = table.cardNames().get(label);
            nics.add(new Nic(
                    known == null ? label : known, attachment[end], known == null ? Map.of() : Map.of("label", label)));
        }
        Machine machine = new Machine(name, devices, hubs, links, nics, warnings, speeds.assumed());
        warnings.addAll(contradictions(machine));
        RefusedPairs refused = peers.refused(devices.stream().map(Device::name).toList(), table, speeds, warnings);
        return new Machine(name, refused.mark(devices), hubs, refused.usable(links), nics, warnings, speeds.assumed());
    }

    private TopoTable.Row row(int end) {
        TopoTable.Row row = table.rows().get(end);
        if (row == null) {
            throw new IllegalArgumentException(
                    "table has no row of " + table.ends().get(end));
        }
        return row;
    }

    private int lanes(int a, int b) {
        return row(gpus.get(a)).cells().get(gpus.get(b)).lanes();
    }

    // NVLink.

    private void addNvLinks() {
        int n = devices.size();
        DisjointSets linked = new DisjointSets(n);
        int most = 0;
        for (int a = 0; a < n; a++) {
            int sum = 0;
            for (int b = 0; b < n; b++) {
                sum += lanes(a, b);
                mostLanes = Math.max(mostLanes, lanes(a, b));
            }
            most = Math.max(most, sum);
        }
        if (most == 0) {
            return;
        }
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                if (lanes(a, b) > 0) {
                    linked.union(a, b);
                }
            }
        }
        Map<Integer, List<Integer>> groups = new LinkedHashMap<>();
        for (int a = 0; a < n; a++) {
            groups.computeIfAbsent(linked.find(a), root -> new ArrayList<>()).add(a);
        }
        boolean firstGeneration = table.oldDriver() && most <= MAX_LANES_NVLINK1;
        for (List<Integer> group : groups.values()) {
            int[] ofDevice = switchLanes(group);
            if (ofDevice.length > 0) {
                mostSwitchLanes = Math.max(mostSwitchLanes, max(ofDevice));
                hubs.add(new Hub("NVSwitch", Hub.Kind.NVSWITCH, reduces(group, max(ofDevice)), Map.of()));
                int hub = devices.size() + hubs.size() - 1;
                // Only DGX-2's V100 has so few; its switches are faster.
                double hopUs = LinkSpeeds.nvswitchUs(max(ofDevice) > MAX_LANES_TO_EACH_PEER ? 80 : 70);
                for (int i = 0; i < ofDevice.length; i++) {
                    int gpu = group.get(i);
                    double gbs = ofDevice[i] * laneGbs(gpu, gpu, firstGeneration);
                    links.add(Link.duplex(gpu, hub, Link.Kind.NVLINK, ofDevice[i], gbs, hopUs));
                }
            } else {
                addDirect(group, firstGeneration);
            }
        }
        addImpossibleLinks();
        new MissingLinks(devices, this::lanes).warnings(groups.values(), speeds).forEach(warnings::add);
    }

    /** Warns of GPUs whose model has fewer NVLinks than the table shows. */
    private void addImpossibleLinks() {
        Map<String, List<String>> impossible = new LinkedHashMap<>();
        for (int gpu = 0; gpu < devices.size(); gpu++) {
            int device = gpu;
            int shown = links.stream()
                    .filter(link -> link.a() == device || link.b() == device)
                    .mapToInt(Link::lanes)
                    .sum();
            speeds.of(gpu)
                    .product()
                    .map(GpuProduct::mostNvlinks)
                    .filter(most -> most < shown)
                    .ifPresent(most -> impossible
                            .computeIfAbsent(
                                    shown + " NVLinks in the table, but GPUs of their model have "
                                            + (most == 0 ? "none" : "at most " + most),
                                    key -> new ArrayList<>())
                            .add(devices.get(device).name()));
        }
        impossible.forEach((what, names) -> warnings.add(String.join(", ", names)
                + (names.size() == 1 ? " has " : " have ") + what
                + ": check the model, which sets the speeds of these links"));
    }

    private double laneGbs(int a, int b, boolean firstGeneration) {
        return firstGeneration
                ? speeds.linkGbs(a, b, LinkSpeeds.nvlinkLaneGbs(60), "NVLink (P100's)")
                : speeds.linkGbs(
                        a,
                        b,
                        AssumedLinks.NVLINK_LANE_GBS,
                        mostLanes >= MAX_LANES_PER_DEVICE ? "NVLink (H100's and H200's; B200's has 50)" : "NVLink");
    }

    /** The H100 and later models have 18 NVLinks, except the H800, which has 8 like the A800. */
    private boolean reduces(List<Integer> group, int lanes) {
        List<GpuProduct> products =
                group.stream().flatMap(gpu -> speeds.of(gpu).product().stream()).toList();
        if (products.size() == group.size()) {
            return products.stream().allMatch(product -> product.sm() >= Hub.FIRST_REDUCING_SM);
        }
        if (lanes != MAX_LANES_PER_DEVICE && lanes != LANES_A100 && lanes != MAX_LANES_TO_EACH_PEER) {
            speeds.whole().assume("NVSwitches that do not reduce (A800's; H800's do)");
        }
        return lanes >= MAX_LANES_PER_DEVICE;
    }

    /** Generation of PCIe that the NVLinks tell, or 0: 18 of them have H100 and later; A100's switches have up to 12.
     * */
    private int pcieGeneration() {
        if (mostLanes >= MAX_LANES_PER_DEVICE) {
            return 5;
        }
        return mostSwitchLanes > MAX_LANES_TO_EACH_PEER ? 4 : 0;
    }

    private void addDirect(List<Integer> group, boolean firstGeneration) {
        for (int i = 0; i < group.size(); i++) {
            for (int j = i + 1; j < group.size(); j++) {
                int count = lanes(group.get(i), group.get(j));
                if (count > 0) {
                    double laneGbs = laneGbs(group.get(i), group.get(j), firstGeneration);
                    links.add(AssumedLinks.nvLink(group.get(i), group.get(j), count, laneGbs));
                }
            }
        }
    }

    /** Lanes to NVSwitches of each device of a group; empty where the pairs are linked directly. */
    private int[] switchLanes(List<Integer> group) {
        int m = group.size();
        int[] best = new int[m];
        int[] sum = new int[m];
        int least = Integer.MAX_VALUE;
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < m; j++) {
                if (i != j) {
                    int count = lanes(group.get(i), group.get(j));
                    best[i] = Math.max(best[i], count);
                    sum[i] += count;
                    least = Math.min(least, count);
                }
            }
        }
        int most = max(sum);
        int widest = max(best);
        boolean equal = m > 2 && least == widest;
        if (equal && widest == MAX_LANES_TO_EACH_PEER && most <= MAX_LANES_PER_DEVICE) {
            warnings.add("NV6 between all of " + devices.get(group.getFirst()).name() + ".."
                    + devices.get(group.getLast()).name() + " is read as direct links, as 4 H100 have; GPUs of a DGX-2"
                    + " that share 6 links each to NVSwitches look the same");
        }
        if (most <= MAX_LANES_PER_DEVICE && !(equal && widest > MAX_LANES_TO_EACH_PEER)) {
            return new int[0];
        }
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < m; j++) {
                if (i != j && lanes(group.get(i), group.get(j)) != Math.min(best[i], best[j])) {
                    warnings.add(devices.get(group.get(i)).name() + " shows " + sum[i] + " NVLinks, more than any GPU"
                            + " has, yet not as NVSwitches would: "
                            + devices.get(group.get(j)).name()
                            + " differs; links are read as direct");
                    return new int[0];
                }
            }
        }
        return best;
    }

    private static int max(int[] counts) {
        return Arrays.stream(counts).max().orElse(0);
    }

    // PCIe.

    /** Adds hubs and links and returns, per end, the node that it hangs on. */
    private int[] addPcie() {
        List<PcieHierarchy.End> ends = new ArrayList<>();
        for (int end = 0; end < table.ends().size(); end++) {
            boolean gpu = table.isGpu(end);
            SpeedChoice speed = gpu ? speeds.of(endIndex[end]) : speeds.whole();
            int lanes = speed.pcieLanes();
            ends.add(new PcieHierarchy.End(
                    gpu ? endIndex[end] : -1,
                    gpu ? affinity(end) : "",
                    lanes,
                    lanes * speed.pcieLaneGbs(pcieGeneration())));
        }
        PcieHierarchy pcie =
                PcieHierarchy.of(ends, this::pcieClass, devices.size() + hubs.size(), cpu, speeds.whole()::socketGbs);
        pcie.assumed().forEach(speeds.whole()::assume);
        hubs.addAll(pcie.hubs());
        links.addAll(pcie.links());
        return IntStream.range(0, ends.size()).map(pcie::attachment).toArray();
    }

    private Connection.@Nullable Kind pcieClass(int a, int b) {
        TopoCell cell = table.cell(a, b);
        return cell == null ? null : cell.kind();
    }

    private String affinity(int gpu) {
        TopoTable.Row row = row(gpu);
        if (!row.numa().isEmpty()) {
            return "numa " + row.numa();
        }
        String cpus = cpus(gpu);
        return cpus.isEmpty() ? "" : "cpus " + cpus;
    }

    /** The CPUs of a GPU; of another one whose list begins alike where the text cuts this one's off. */
    private String cpus(int gpu) {
        String own = row(gpu).cpus();
        if (!own.endsWith(",")) {
            return own;
        }
        int alike = gpus.stream()
                .filter(other -> other != gpu && row(other).cpus().startsWith(own))
                .findFirst()
                .orElse(gpu);
        warnings.add("the CPU affinity of " + table.ends().get(gpu) + " is cut off: \"" + own + "\""
                + (alike == gpu ? "" : "; it is read as that of " + table.ends().get(alike)));
        return row(alike).cpus();
    }

    /** Classes that no nesting of hubs explains, such as A-B and B-C on one switch but A-C between sockets. */
    private List<String> contradictions(Machine machine) {
        Routes routes = Routes.of(machine);
        int count = 0;
        String example = "";
        for (int a = 0; a < endIndex.length; a++) {
            for (int b = 0; b < a; b++) {
                TopoCell cell = table.cell(a, b);
                Connection.Kind read = routes.between(endIndex[b], endIndex[a]).kind();
                if (cell != null && cell.kind() != read) {
                    if (count == 0) {
                        example = table.ends().get(b) + "-" + table.ends().get(a) + " is " + cell.kind()
                                + ", others make it " + read;
                    }
                    count++;
                }
            }
        }
        return count == 0
                ? List.of()
                : List.of("PCIe classes of " + count + " pairs contradict those of other pairs (" + example
                        + "); the nearer class is used");
    }
}
