package dev.banyan.topology.internal.nccl;

import dev.banyan.config.internal.Quote;
import dev.banyan.topology.Connection;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import dev.banyan.topology.Routes;
import dev.banyan.topology.internal.pcie.CpuNodes;
import dev.banyan.topology.internal.peer.RefusedPairs;
import dev.banyan.topology.internal.speed.CpuModel;
import dev.banyan.topology.internal.speed.SpeedChoice;
import dev.banyan.topology.internal.text.BusId;
import dev.banyan.topology.internal.text.GpuProduct;
import dev.banyan.topology.internal.text.MachineFormat;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.ToIntFunction;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Turns the elements of an NCCL topology file into a machine. Used once.
 *
 * <p>Devices are in the order of {@code dev}, the number by which nvidia-smi and CUDA know a GPU: it names the
 * same GPU as {@code nvidia-smi topo -m} does, while {@code rank} is the place of the GPU in whatever
 * job wrote the file. Where {@code dev} does not tell the devices apart (several hosts in one file, partitions
 * of one GPU), {@code rank} orders them, and the order of the file as the last resort.
 */
final class NcclXmlReader {
    /**
     * Vendor and device of GeForce cards for desktops from series 40 on, by the PCI ID Repository, e.g. 0x2684 of the
     * RTX 4090 and 0x2b85 of the RTX 5090.
     */
    private static final Pattern GEFORCE_40 =
            Pattern.compile("0x10de 0x(?:(?:26|27|28|2b|2d)8|(?:27|28|2c|2d|2f)0)[0-9a-f]");

    private static final int MAX_DEVICES = 1024;
    /** All are linked to each other, so their number must be bounded. */
    private static final int MAX_CPUS = 256;

    private final Warnings warnings = new Warnings();
    private final StatedSpeeds stated;
    private final SpeedChoice choice;
    private final PciSpeed speeds;
    private final String source;

    private final List<HubDraft> hubs = new ArrayList<>();
    private final List<DeviceDraft> devices = new ArrayList<>();
    private final List<NicDraft> nics = new ArrayList<>();
    private final Map<String, XmlElement> functions = new HashMap<>();
    /** By hub: how many functions it has that are kept as its attributes. */
    private final Map<Integer, Integer> leaves = new HashMap<>();

    private final Set<String> unknownElements = new TreeSet<>();
    private int cpus;
    private int functionsWithoutGpu;
    private int functionsWithoutClass;

    NcclXmlReader(String source, StatedSpeeds stated) {
        this.source = source;
        this.stated = stated;
        choice = new SpeedChoice(stated, Optional.empty());
        speeds = new PciSpeed(choice, warnings);
    }

    /**
     * A hub and its way up.
     *
     * @param parent index among the hubs, or -1 for a socket
     */
    private record HubDraft(
            Hub.Kind kind,
            String name,
            Map<String, String> attributes,
            int parent,
            PciSpeed.Width width,
            String host) {}

    /**
     * A GPU and its way up.
     *
     * @param socket index of its socket among the hubs
     * @param parent index of what it hangs on among the hubs
     * @param sharers GPUs of its PCI function, at least 1: partitions share its links
     */
    record DeviceDraft(
            XmlElement gpu,
            String busId,
            String host,
            int numa,
            int socket,
            int parent,
            PciSpeed.Width width,
            int sharers,
            Map<String, String> attributes) {}

    private record NicDraft(String name, int parent, Map<String, String> attributes) {}

    /** The place of an element: the hub above it, and that hub's socket, host and NUMA node. */
    private record Place(int hub, int socket, String host, int numa) {
        Place under(int newHub) {
            return new Place(newHub, socket, host, numa);
        }
    }

    Machine read(XmlElement root) {
        checkRoot(root);
        for (XmlElement child : root.children) {
            if (child.name.equals("cpu")) {
                readCpu(child);
            } else {
                unknown(child);
            }
        }
        speeds.report();
        if (!unknownElements.isEmpty()) {
            warnings.add("elements that are not known are left out: <" + String.join(">, <", unknownElements) + ">");
        }
        if (functionsWithoutClass > 0) {
            warnings.add(functionsWithoutClass + " PCI functions have neither a class nor anything in them: they are"
                    + " kept, but it is not known what they are");
        }
        if (functionsWithoutGpu > 0) {
            warnings.add(functionsWithoutGpu + " PCI functions have the class of a GPU but no <gpu> element, so the"
                    + " file does not say which GPUs there are: NCCL completes such a file on the machine; dump it"
                    + " there with NCCL_TOPO_DUMP_FILE");
        } else if (devices.isEmpty()) {
            warnings.add("there is no <gpu> element: the machine has no devices");
        }
        return assemble(root);
    }

    private void checkRoot(XmlElement root) {
        if (root.name.equals("graphs")) {
            throw root.refuse("is a dump of NCCL's rings and trees (NCCL_GRAPH_DUMP_FILE), not of the machine;"
                    + " give the file that NCCL_TOPO_DUMP_FILE writes");
        }
        if (!root.name.equals("system")) {
            throw root.refuse("is no NCCL topology: its root is <" + Quote.of(root.name) + ">, <system> is needed");
        }
        int version = root.integer("version", 0);
        if (version == 0) {
            warnings.add(root, "<system> has no version: it is read as version 1");
        } else if (version != 1 && version != 2) {
            throw root.refuse("has version " + version + "; versions 1 (NCCL) and 2 (RCCL) are known");
        }
    }

    private void readCpu(XmlElement cpu) {
        if (++cpus > MAX_CPUS) {
            throw cpu.refuse("has more than " + MAX_CPUS + " CPUs, too many for one machine");
        }
        int numa = Math.max(-1, cpu.integer("numaid", -1));
        String host = cpu.text("host_hash");
        hubs.add(new HubDraft(Hub.Kind.CPU_SOCKET, "CPU " + numa, kept(cpu), -1, new PciSpeed.Width(1, 0), host));
        Place place = new Place(hubs.size() - 1, hubs.size() - 1, host, numa);
        for (XmlElement child : cpu.children) {
            switch (child.name) {
                case "pci" -> readPci(child, place);
                case "nic", "net" -> readNic(child, place, Map.of());
                case "gpu" ->
                    throw child.refuse("<gpu> stands outside a <pci>, so it has no bus id; put it"
                            + " into the <pci> of its PCI function");
                default -> unknown(child);
            }
        }
    }

    private void readPci(XmlElement pci, Place place) {
        String pciClass = pci.text(NcclNames.CLASS);
        boolean ends = pci.has("gpu") || pci.has("nic") || pci.has("net");
        boolean bridge = pciClass.startsWith("0x0604") || pciClass.startsWith("0x0600");
        register(pci, place.host);
        if (pci.has("pci") || (bridge && !ends)) {
            readHub(pci, place);
        } else {
            readFunction(pci, place);
        }
    }

    /** NCCL tells functions apart by their bus ids; two GPUs of one id are dealt with where their links are. */
    private void register(XmlElement pci, String host) {
        String busId = BusId.normalize(pci.text(NcclNames.BUSID));
        if (busId.isEmpty()) {
            warnings.add(pci, "<pci> has no busid");
            return;
        }
        XmlElement first = functions.putIfAbsent(host + "|" + busId, pci);
        if (first != null) {
            warnings.add(
                    pci,
                    "bus id " + Quote.of(busId) + " is that of line " + first.place.line()
                            + " too; they are taken as different functions");
        }
    }

    private void readHub(XmlElement pci, Place place) {
        boolean root = pci.text(NcclNames.CLASS).startsWith("0x0600");
        PciSpeed.Width width = speeds.of(pci);
        hubs.add(new HubDraft(
                root ? Hub.Kind.HOST_BRIDGE : Hub.Kind.PCIE_SWITCH,
                (root ? "Host bridge " : "PCIe switch ") + BusId.normalize(pci.text(NcclNames.BUSID)),
                kept(pci),
                place.hub,
                width,
                place.host));
        Place below = place.under(hubs.size() - 1);
        for (XmlElement child : pci.children) {
            switch (child.name) {
                case "pci" -> readPci(child, below);
                case "gpu" -> addDevice(child, pci, below, width, Map.of());
                case "nic", "net" -> readNic(child, below, Map.of());
                default -> unknown(child);
            }
        }
    }

    private void readFunction(XmlElement pci, Place place) {
        PciSpeed.Width width = speeds.of(pci);
        Map<String, String> function = new LinkedHashMap<>();
        NcclNames.putAll(function, NcclNames.PCI, kept(pci));
        int gpus = 0;
        boolean used = false;
        for (XmlElement child : pci.children) {
            switch (child.name) {
                case "gpu" -> {
                    addDevice(child, pci, place, width, function);
                    used = true;
                    if (++gpus == 2) {
                        warnings.add(
                                child,
                                "PCI function " + Quote.of(pci.text(NcclNames.BUSID)) + " has several GPUs"
                                        + " (partitions, or several"
                                        + " ranks on one GPU); each is"
                                        + " taken as a device of its"
                                        + " own with an equal share of the links");
                    }
                }
                case "nic", "net" -> {
                    readNic(child, place, function);
                    used = true;
                }
                default -> unknown(child);
            }
        }
        if (used) {
            return;
        }
        String pciClass = pci.text(NcclNames.CLASS);
        if (pciClass.startsWith("0x02")) {
            nics.add(new NicDraft(pci.text(NcclNames.BUSID), place.hub, function));
            return;
        }
        functionsWithoutGpu += NcclNames.isGpuClass(pciClass) ? 1 : 0;
        functionsWithoutClass += pciClass.isEmpty() ? 1 : 0;
        int number = leaves.merge(place.hub, 1, Integer::sum) - 1;
        NcclNames.putAll(hubs.get(place.hub).attributes, NcclNames.LEAF + number + ".", kept(pci));
    }

    private void addDevice(
            XmlElement gpu, XmlElement pci, Place place, PciSpeed.Width width, Map<String, String> function) {
        if (devices.size() == MAX_DEVICES) {
            throw gpu.refuse("has more than " + MAX_DEVICES + " GPUs, too many for one machine");
        }
        gpu.integer("dev", 0);
        gpu.integer("rank", 0);
        gpu.integer("sm", 0);
        Map<String, String> attributes = kept(gpu);
        attributes.putAll(function);
        devices.add(new DeviceDraft(
                gpu,
                BusId.normalize(pci.text(NcclNames.BUSID)),
                place.host,
                place.numa,
                place.socket,
                place.hub,
                width,
                (int) pci.children.stream()
                        .filter(child -> child.name.equals("gpu"))
                        .count(),
                attributes));
    }

    private void readNic(XmlElement element, Place place, Map<String, String> function) {
        if (element.name.equals("net")) {
            addNet(element, place, function);
            return;
        }
        int before = nics.size();
        for (XmlElement child : element.children) {
            if (child.name.equals("net")) {
                addNet(child, place, function);
            } else {
                unknown(child);
            }
        }
        if (nics.size() == before && !function.isEmpty()) {
            nics.add(new NicDraft(function.getOrDefault(NcclNames.PCI + NcclNames.BUSID, ""), place.hub, function));
        }
    }

    private void addNet(XmlElement net, Place place, Map<String, String> function) {
        Map<String, String> attributes = kept(net);
        String name = attributes.remove("name");
        attributes.putAll(function);
        nics.add(new NicDraft(name == null ? "net" + net.text("dev") : name, place.hub, attributes));
    }

    private void unknown(XmlElement element) {
        if (unknownElements.size() < 10) {
            unknownElements.add(Quote.of(element.name));
        }
    }

    /** A copy of the attributes; a name with a dot would be taken for one of Banyan's own. */
    private static Map<String, String> kept(XmlElement element) {
        Map<String, String> attributes = new LinkedHashMap<>(element.attributes);
        attributes.keySet().removeIf(key -> key.indexOf('.') >= 0);
        return attributes;
    }

    private Machine assemble(XmlElement root) {
        order();
        int n = devices.size();
        List<Device> built = new ArrayList<>();
        List<Link> links = new ArrayList<>();
        boolean named = distinct("dev");
        List<String> names = IntStream.range(0, n)
                .mapToObj(i -> "GPU" + (named ? devices.get(i).gpu.integer("dev", i) : i))
                .toList();
        NcclGpuLinks gpuLinks = new NcclGpuLinks(devices, names, hubs.size(), choice, warnings);
        gpuLinks.resolve();
        for (int i = 0; i < n; i++) {
            DeviceDraft draft = devices.get(i);
            String busId = draft.busId.isEmpty() ? null : draft.busId;
            built.add(new Device(names.get(i), busId, draft.numa, draft.attributes));
            links.add(pcie(n + draft.parent, i, draft.width.sharedBy(draft.sharers)));
        }
        List<Hub> allHubs = new ArrayList<>();
        for (int i = 0; i < hubs.size(); i++) {
            HubDraft draft = hubs.get(i);
            allHubs.add(new Hub(draft.name, draft.kind, draft.attributes));
            if (draft.parent >= 0) {
                links.add(pcie(n + draft.parent, n + i, draft.width));
            }
        }
        linkSockets(n, links);
        if (n > 1 && gpuLinks.listsNone() && devices.stream().allMatch(NcclXmlReader::mayHaveNvLinks)) {
            choice.assume("no NVLinks, as the file lists none (NCCL completes files that people wrote)");
        }
        allHubs.addAll(gpuLinks.switches());
        links.addAll(gpuLinks.links());
        // Cards of one hub stand together, so that a file that is written and read again has the same order.
        nics.sort(Comparator.comparingInt(NicDraft::parent));
        List<Nic> cards = new ArrayList<>();
        for (NicDraft draft : nics) {
            cards.add(new Nic(draft.name, n + draft.parent, draft.attributes));
        }
        String name = root.text("name");
        String called = name.isEmpty() ? MachineFormat.machineName(source) : name;
        Machine described = new Machine(called, built, allHubs, links, cards, warnings.list(), List.of());
        RefusedPairs refused = refused(Routes.of(described));
        return new Machine(
                called, refused.mark(built), allHubs, refused.usable(links), cards, warnings.list(), choice.assumed());
    }

    /** The file does not say which pairs have peer access: the user does, or the models. */
    private RefusedPairs refused(Routes routes) {
        int n = devices.size();
        RefusedPairs refused = new RefusedPairs(n);
        boolean byModel = false;
        boolean granted = false;
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                boolean model = stated.peerAccess() == StatedSpeeds.PeerAccess.BY_MODEL
                        && refusesPeerAccess(devices.get(a))
                        && refusesPeerAccess(devices.get(b));
                if (model || stated.peerAccess() == StatedSpeeds.PeerAccess.NO) {
                    refused.add(a, b);
                }
                byModel |= model;
                granted |= !model
                        && stated.peerAccess() == StatedSpeeds.PeerAccess.BY_MODEL
                        && routes.between(a, b).kind() != Connection.Kind.NVLINK;
            }
        }
        if (byModel) {
            choice.assume(RefusedPairs.BY_MODEL);
        }
        if (granted) {
            choice.assume(RefusedPairs.GRANTED);
        }
        return refused;
    }

    /** Returns whether the model that the user states, or that of the PCI function, is one of those. */
    private boolean refusesPeerAccess(DeviceDraft draft) {
        return choice.product()
                .map(GpuProduct::refusesPeerAccess)
                .orElseGet(() -> GEFORCE_40
                        .matcher(draft.attributes.getOrDefault(NcclNames.PCI + "vendor", "") + " "
                                + draft.attributes.getOrDefault(NcclNames.PCI + "device", ""))
                        .matches());
    }

    /** Returns whether there is a product of the GPU's generation that comes with NVLinks to all others of its box. */
    private static boolean mayHaveNvLinks(DeviceDraft draft) {
        int sm = draft.gpu.integer("sm", 0);
        return sm >= 60 && (sm % 10 == 0 || sm == 103);
    }

    private static Link pcie(int upper, int lower, PciSpeed.Width width) {
        return Link.duplex(upper, lower, Link.Kind.PCIE, width.lanes(), width.gbs(), LinkSpeeds.PCIE_US);
    }

    /** Links the CPUs of each host: their NUMA nodes to each other, and one node of each CPU to those of the others. */
    private void linkSockets(int n, List<Link> links) {
        Map<String, List<Integer>> hosts = new LinkedHashMap<>();
        for (int hub = 0; hub < hubs.size(); hub++) {
            if (hubs.get(hub).kind == Hub.Kind.CPU_SOCKET) {
                hosts.computeIfAbsent(hubs.get(hub).host, _ -> new ArrayList<>())
                        .add(hub);
            }
        }
        for (List<Integer> nodes : hosts.values()) {
            List<List<Integer>> cpus = cpus(nodes);
            for (List<Integer> cpu : cpus) {
                linkAll(n, cpu, links);
            }
            linkAll(n, cpus.stream().map(List::getFirst).toList(), links);
        }
        if (hosts.size() > 1) {
            warnings.add("the file describes " + hosts.size() + " hosts (host_hash): their CPUs are not linked");
        }
    }

    /** NUMA nodes are not CPUs; where the file numbers more than two, they are shared out to two CPUs. */
    private List<List<Integer>> cpus(List<Integer> nodes) {
        List<String> numas = nodes.stream()
                .map(node -> "numa " + hubs.get(node).attributes.getOrDefault("numaid", ""))
                .toList();
        if (nodes.size() <= 2
                || numas.stream().distinct().count() < nodes.size()
                || !numas.stream().allMatch(numa -> numa.matches("numa \\d{1,4}"))) {
            return nodes.stream().map(List::of).toList();
        }
        choice.assume(CpuNodes.assumption(numas, 0));
        return CpuNodes.byCpu(numas, 0).stream()
                .map(cpu -> cpu.stream().map(nodes::get).toList())
                .toList();
    }

    private void linkAll(int n, List<Integer> nodes, List<Link> links) {
        for (int i = 0; i < nodes.size(); i++) {
            for (int j = i + 1; j < nodes.size(); j++) {
                Map<String, String> a = hubs.get(nodes.get(i)).attributes;
                Map<String, String> b = hubs.get(nodes.get(j)).attributes;
                double gbs = choice.socketGbs(CpuModel.slower(new CpuModel(a, 0, 0), new CpuModel(b, 0, 0)));
                links.add(Link.duplex(
                        n + nodes.get(i), n + nodes.get(j), Link.Kind.SOCKET, 1, gbs, LinkSpeeds.SOCKET_US));
            }
        }
    }

    private void order() {
        if (distinct("dev")) {
            devices.sort(Comparator.comparingInt(number("dev")));
        } else if (distinct("rank")) {
            warnings.add("dev does not distinguish the GPUs: they are ordered by rank");
            devices.sort(Comparator.comparingInt(number("rank")));
        } else {
            warnings.add("neither dev nor rank distinguishes the GPUs: they are in the order of the file");
        }
    }

    private ToIntFunction<DeviceDraft> number(String key) {
        return draft -> draft.gpu.integer(key, -1);
    }

    /** Returns whether every GPU has the attribute, and no two the same. */
    private boolean distinct(String key) {
        Set<Integer> seen = new HashSet<>();
        return devices.stream().mapToInt(number(key)).allMatch(value -> value >= 0 && seen.add(value));
    }
}
