package dev.banyan.topology.internal.nccl;

import dev.banyan.InputException;
import dev.banyan.config.internal.Quote;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import dev.banyan.topology.internal.speed.SpeedChoice;
import dev.banyan.topology.internal.text.BusId;
import dev.banyan.topology.internal.text.XmlText;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Writes a machine as NCCL's topology file (version 1), or RCCL's (version 2) if its devices are AMD's. Used once.
 *
 * <p>What the machine has not but NCCL wants (bus ids, classes, ranks) is made up. A bandwidth that is not that of the
 * link's kind goes into {@link NcclNames#GBS}. Latencies, warnings, and bandwidths between sockets are lost.
 */
public final class NcclXmlWriter {
    private static final Pattern SWITCH_LANES = Pattern.compile("(\\S{1,64}) ([0-9]{1,4})");

    private final Machine machine;
    private final PcieTree tree;
    private final boolean amd;
    private final String[] busIds;
    private final XmlWriter xml = new XmlWriter();

    private NcclXmlWriter(Machine machine) {
        this.machine = machine;
        tree = new PcieTree(machine);
        amd = machine.links().stream().anyMatch(link -> link.kind() == Link.Kind.XGMI)
                || machine.devices().stream()
                        .anyMatch(device -> device.attributes().containsKey("gcn"));
        busIds = busIds();
        checkLinks();
    }

    /**
     * Writes a machine.
     *
     * @throws IllegalArgumentException if NCCL's files cannot express one of its links or attributes
     */
    public static String write(Machine machine) {
        NcclXmlWriter writer = new NcclXmlWriter(machine);
        writer.writeSystem();
        String text = writer.xml.toString();
        try {
            // Attributes may come from anywhere: what is written must be readable.
            new NcclXmlFormat(StatedSpeeds.NONE).read(machine.name(), text);
        } catch (InputException e) {
            throw new IllegalArgumentException(
                    "NCCL's files cannot express this machine (" + e.getMessage() + "); write JSON instead", e);
        }
        return text;
    }

    /** Those that the machine has, and made-up ones for other devices and hubs. */
    private String[] busIds() {
        String[] ids = new String[machine.nodeCount()];
        Set<String> taken = new HashSet<>();
        for (int node = 0; node < ids.length; node++) {
            ids[node] = machine.node(node) instanceof Device device && device.busId() != null
                    ? device.busId()
                    : machine.node(node).attributes().getOrDefault(NcclNames.BUSID, "");
            taken.add(ids[node]);
        }
        int next = 0;
        for (int node = 0; node < ids.length; node++) {
            while (ids[node].isEmpty()) {
                next++;
                String made = String.format("%04x:%02x:00.0", next >> 8, next & 0xFF);
                ids[node] = taken.add(made) ? made : "";
            }
        }
        return ids;
    }

    private void checkLinks() {
        for (Link link : machine.links()) {
            boolean expressible = switch (link.kind()) {
                case PCIE -> true;
                case OTHER -> false;
                case SOCKET -> isHub(link.b(), Hub.Kind.CPU_SOCKET) && joinsSocket(link.a(), link.b());
                case XGMI -> link.a() < machine.size() && link.b() < machine.size();
                case NVLINK -> {
                    int low = Math.min(link.a(), link.b());
                    int high = Math.max(link.a(), link.b());
                    yield low < machine.size()
                            && (high < machine.size()
                                    || isHub(high, Hub.Kind.NVSWITCH)
                                    || (isHub(high, Hub.Kind.CPU_SOCKET) && tree.socketAbove(low) == high));
                }
            };
            if (!expressible) {
                throw PcieTree.cannot(machine, Quote.word(link.kind()) + " link", link, "");
            }
            if (link.a() < machine.size() && link.b() < machine.size() && busIds[link.a()].equals(busIds[link.b()])) {
                throw PcieTree.cannot(machine, "link", link, ", which share bus id " + busIds[link.a()]);
            }
        }
    }

    private boolean joinsSocket(int node, int socket) {
        return isHub(node, Hub.Kind.CPU_SOCKET)
                || (node < machine.size() && hasC2c(node) && tree.socketAbove(node) == socket);
    }

    private boolean isHub(int node, Hub.Kind kind) {
        return machine.node(node) instanceof Hub hub && hub.kind() == kind;
    }

    private void writeSystem() {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("version", amd ? "2" : "1");
        attributes.put("name", machine.name());
        xml.open("system", attributes);
        List<Integer> homeless = new ArrayList<>();
        int sockets = 0;
        for (int root : tree.roots()) {
            if (isHub(root, Hub.Kind.CPU_SOCKET)) {
                writeSocket(root, sockets++);
            } else {
                homeless.add(root);
            }
        }
        boolean cards = machine.nics().stream().anyMatch(nic -> nic.hub() < 0);
        if (!homeless.isEmpty() || cards) {
            xml.open("cpu", Map.of("numaid", "-1"));
            homeless.forEach(this::writeNode);
            writeCards(-1);
            xml.close("cpu");
        }
        xml.close("system");
    }

    private void writeSocket(int node, int number) {
        Map<String, String> attributes = NcclNames.plain(machine.node(node).attributes());
        attributes.putIfAbsent("numaid", Integer.toString(number));
        xml.open("cpu", attributes);
        writeBelow(node);
        xml.close("cpu");
    }

    private void writeBelow(int node) {
        tree.below(node).forEach(this::writeNode);
        writeCards(node);
        Map<String, String> leaves =
                NcclNames.under(NcclNames.LEAF, machine.node(node).attributes());
        numbered(leaves).values().forEach(leaf -> xml.single("pci", leaf));
    }

    /** {@code 0.busid} and so on, by their numbers. */
    private static Map<Integer, Map<String, String>> numbered(Map<String, String> attributes) {
        Map<Integer, Map<String, String>> found = new TreeMap<>();
        attributes.forEach((key, value) -> {
            int dot = key.indexOf('.');
            if (dot > 0 && key.substring(0, dot).matches("[0-9]{1,6}")) {
                found.computeIfAbsent(Integer.parseInt(key.substring(0, dot)), k -> new LinkedHashMap<>())
                        .put(key.substring(dot + 1), value);
            }
        });
        return found;
    }

    private void writeNode(int node) {
        if (machine.node(node) instanceof Hub hub) {
            String kind =
                    hub.kind() == Hub.Kind.HOST_BRIDGE ? NcclNames.CLASS_HOST_BRIDGE : NcclNames.CLASS_PCIE_SWITCH;
            xml.open("pci", function(NcclNames.plain(hub.attributes()), node, kind));
            writeBelow(node);
            xml.close("pci");
        } else {
            writeDevice(node);
        }
    }

    /** The attributes of a PCI function, completed so that its link to above is read back as it is. */
    private Map<String, String> function(Map<String, String> given, int node, String pciClass) {
        Map<String, String> attributes = new LinkedHashMap<>();
        if (!given.containsKey(NcclNames.BUSID)) {
            attributes.put(NcclNames.BUSID, busIds[node]);
        }
        boolean madeUp = given.isEmpty();
        attributes.putAll(given);
        if (!BusId.normalize(attributes.getOrDefault(NcclNames.BUSID, "")).equals(BusId.normalize(busIds[node]))) {
            // The device's own bus id is the one that links name.
            attributes.put(NcclNames.BUSID, busIds[node]);
        }
        if (madeUp) {
            attributes.put(NcclNames.CLASS, pciClass);
        }
        Link link = tree.up(node);
        if (link == null) {
            return attributes;
        }
        double gbs = Math.min(link.gbsAToB(), link.gbsBToA());
        if (!madeUp && width(attributes).equals(new PciSpeed.Width(link.lanes(), gbs))) {
            return attributes;
        }
        attributes.remove(NcclNames.GBS);
        attributes.put(NcclNames.LINK_SPEED, speed(gbs / link.lanes()));
        attributes.put(NcclNames.LINK_WIDTH, Integer.toString(link.lanes()));
        if (width(attributes).gbs() != gbs) {
            attributes.put(NcclNames.GBS, Double.toString(gbs));
        }
        return attributes;
    }

    /** Returns the width that the reader derives from such attributes. */
    private static PciSpeed.Width width(Map<String, String> attributes) {
        XmlElement element = new XmlElement("", "pci", new XmlText.Place(1, 1));
        element.attributes.putAll(attributes);
        try {
            SpeedChoice choice = new SpeedChoice(StatedSpeeds.NONE, Optional.empty());
            return new PciSpeed(choice, new Warnings()).of(element);
        } catch (InputException e) {
            // Attributes of another source that NCCL would not understand: they are replaced.
            return new PciSpeed.Width(0, -1);
        }
    }

    /** The generation of a lane's bandwidth; gen3 where it is none, next to an explicit bandwidth. */
    private static String speed(double laneGbs) {
        for (double gts : LinkSpeeds.PCIE_GTS) {
            if (Math.abs(LinkSpeeds.pcieLaneGbs(gts) - laneGbs) < 1e-9) {
                return gts + " GT/s PCIe";
            }
        }
        return LinkSpeeds.PCIE_GEN3_GTS + " GT/s PCIe";
    }

    private void writeDevice(int index) {
        Device device = machine.devices().get(index);
        Map<String, String> given = NcclNames.under(NcclNames.PCI, device.attributes());
        Map<String, String> gpu = NcclNames.plain(device.attributes());
        if (given.isEmpty()) {
            gpu.putIfAbsent("dev", Integer.toString(index));
            gpu.putIfAbsent("rank", Integer.toString(index));
            gpu.putIfAbsent("sm", "0");
            gpu.putIfAbsent("gdr", "0");
        }
        xml.open("pci", function(given, index, pciClass(index)));
        xml.open("gpu", gpu);
        writeLinks(index);
        xml.close("gpu");
        xml.close("pci");
    }

    private String pciClass(int device) {
        String otherwise = amd ? NcclNames.CLASS_AMD_GPU : NcclNames.CLASS_NVIDIA_GPU;
        return machine.devices().get(device).attributes().getOrDefault(NcclNames.PCI + NcclNames.CLASS, otherwise);
    }

    private void writeLinks(int from) {
        for (Link link : machine.links()) {
            if (!link.kind().isNvLinkClass() || (link.a() != from && link.b() != from)) {
                continue;
            }
            int to = link.other(from);
            double gbs = link.gbsFrom(from);
            boolean usual = gbs == link.lanes() * laneGbs(from, link.kind());
            Map<String, Integer> switches = isHub(to, Hub.Kind.NVSWITCH) ? switchesOf(from, link) : Map.of();
            if (!switches.isEmpty()) {
                double left = gbs;
                int lanesLeft = link.lanes();
                for (Map.Entry<String, Integer> end : switches.entrySet()) {
                    Map<String, String> attributes = linkTo(end.getKey(), end.getValue(), NcclNames.CLASS_NVSWITCH);
                    // The last one has the rest, so that the sum is the link's.
                    lanesLeft -= end.getValue();
                    double share = lanesLeft == 0 ? left : gbs * end.getValue() / link.lanes();
                    left -= share;
                    if (!usual) {
                        attributes.put(NcclNames.GBS, Double.toString(share));
                    }
                    xml.single("nvlink", attributes);
                }
                continue;
            }
            Map<String, String> attributes;
            if (!isHub(to, Hub.Kind.CPU_SOCKET)) {
                String pciClass = to < machine.size() ? pciClass(to) : NcclNames.CLASS_NVSWITCH;
                attributes = linkTo(busIds[to], link.lanes(), pciClass);
            } else if (!hasC2c(from)) {
                attributes = linkTo(NcclNames.UNKNOWN_NVSWITCH, link.lanes(), NcclNames.CLASS_CPU_NVLINK);
            } else {
                continue;
            }
            if (!usual) {
                attributes.put(NcclNames.GBS, Double.toString(gbs));
            }
            xml.single(link.kind() == Link.Kind.XGMI ? "xgmi" : "nvlink", attributes);
        }
        Map<String, String> own = machine.devices().get(from).attributes();
        numbered(NcclNames.under(NcclNames.DANGLING, own)).values().forEach(dangling -> {
            String element = dangling.remove(NcclNames.ELEMENT);
            xml.single("xgmi".equals(element) ? "xgmi" : "nvlink", dangling);
        });
        if (hasC2c(from)) {
            xml.single("c2c", NcclNames.under(NcclNames.C2C, own));
        }
    }

    private static Map<String, String> linkTo(String target, int lanes, String targetClass) {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("target", target);
        attributes.put("count", Integer.toString(lanes));
        attributes.put("tclass", targetClass);
        return attributes;
    }

    /** The lanes to each NVSwitch, by bus id; empty where nothing says so of as many lanes as the link has. */
    private Map<String, Integer> switchesOf(int device, Link link) {
        String kept = machine.devices().get(device).attributes().get(NcclNames.NVSWITCHES);
        if (kept == null) {
            return Map.of();
        }
        Map<String, Integer> switches = new LinkedHashMap<>();
        for (String end : kept.split(", ", -1)) {
            Matcher matcher = SWITCH_LANES.matcher(end);
            if (!matcher.matches()) {
                return Map.of();
            }
            switches.merge(matcher.group(1), Integer.parseInt(matcher.group(2)), Integer::sum);
        }
        int sum = switches.values().stream().mapToInt(Integer::intValue).sum();
        return sum == link.lanes() ? switches : Map.of();
    }

    private boolean hasC2c(int device) {
        return machine.devices().get(device).attributes().keySet().stream()
                .anyMatch(key -> key.startsWith(NcclNames.C2C));
    }

    private double laneGbs(int device, Link.Kind kind) {
        Map<String, String> attributes = machine.devices().get(device).attributes();
        if (kind == Link.Kind.XGMI) {
            return LinkSpeeds.xgmiLaneGbs(attributes.getOrDefault("gcn", "").strip());
        }
        String sm = attributes.getOrDefault("sm", "").strip();
        return LinkSpeeds.nvlinkLaneGbs(sm.matches("[0-9]{1,9}") ? Integer.parseInt(sm) : 0);
    }

    /** The cards on a node; those of one PCI function in one element. */
    private void writeCards(int node) {
        List<Nic> cards =
                machine.nics().stream().filter(nic -> hubOf(nic) == node).toList();
        for (int i = 0; i < cards.size(); ) {
            Map<String, String> function =
                    NcclNames.under(NcclNames.PCI, cards.get(i).attributes());
            int end = i + 1;
            while (end < cards.size()
                    && function.equals(
                            NcclNames.under(NcclNames.PCI, cards.get(end).attributes()))) {
                end++;
            }
            writeFunctionOfCards(function, cards.subList(i, end));
            i = end;
        }
    }

    private int hubOf(Nic nic) {
        if (nic.hub() < 0 || nic.hub() >= machine.size()) {
            return nic.hub();
        }
        Link link = tree.up(nic.hub());
        return link == null ? -1 : link.other(nic.hub());
    }

    private void writeFunctionOfCards(Map<String, String> function, List<Nic> cards) {
        List<Nic> nets = cards.stream().filter(nic -> !isBare(nic)).toList();
        if (nets.isEmpty()) {
            cards.forEach(card -> xml.single("pci", function));
            return;
        }
        if (!function.isEmpty()) {
            xml.open("pci", function);
        }
        xml.open("nic", Map.of());
        for (Nic net : nets) {
            Map<String, String> attributes = new LinkedHashMap<>();
            attributes.put("name", net.name());
            attributes.putAll(NcclNames.plain(net.attributes()));
            xml.single("net", attributes);
        }
        xml.close("nic");
        if (!function.isEmpty()) {
            xml.close("pci");
        }
    }

    /** Returns whether all that is known is the PCI function. */
    private static boolean isBare(Nic nic) {
        Map<String, String> attributes = nic.attributes();
        return NcclNames.plain(attributes).isEmpty()
                && nic.name().equals(attributes.getOrDefault(NcclNames.PCI + NcclNames.BUSID, nic.name() + "?"));
    }
}
