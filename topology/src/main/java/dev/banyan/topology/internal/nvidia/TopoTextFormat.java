package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.speed.CpuModel;
import dev.banyan.topology.internal.text.ListedGpus;
import dev.banyan.topology.internal.text.MachineFormat;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.List;

/**
 * Output of {@code nvidia-smi topo -m}, of any driver version.
 *
 * <p>Its text names classes and lane counts but no speeds. They follow from what was stated, or from the models
 * of the GPUs and the CPU where the text around the table lists them ({@code nvidia-smi -L}, lscpu). Else an NVLink is
 * taken as 25 GB/s one way (20 where an old driver shows at most four per device, as P100 has; a B200 has 50), PCIe as
 * gen5 where a GPU has 18 NVLinks (H100 and later), as gen4 through NVSwitches of A100, else as gen3; a link between
 * sockets as 10. What was assumed is in {@link Machine#assumed()}. See {@link TopoMachine} for how links and hubs
 * follow from the classes. Tables of {@code topo -p2p} beside it say which pairs have peer access; see {@link
 * PeerStatements}. Refused, with the reason: {@code topo -p2p} alone, {@code topo -mp}, and text that is cut, wrapped
 * by a terminal, or not symmetric.
 */
public final class TopoTextFormat implements MachineFormat {
    private final StatedSpeeds stated;

    public TopoTextFormat(StatedSpeeds stated) {
        this.stated = stated;
    }

    @Override
    public boolean leavesSpeedsOpen() {
        return true;
    }

    @Override
    public boolean recognizes(String text) {
        TopoTableParser parser = new TopoTableParser("", text);
        return parser.hasTable() || (parser.hasTraces() && !new ForeignOutput().recognizes(text));
    }

    @Override
    public Machine read(String source, String text) {
        TopoTableParser parser = new TopoTableParser(source, text);
        TopoTable table = parser.parse();
        List<String> lines = text.lines().toList();
        ListedGpus listed = ListedGpus.in(lines);
        PeerStatements peers = new PeerStatements(parser.peerTables(), listed, stated.peerAccess());
        return new TopoMachine(table, listed, CpuModel.in(lines), peers, stated)
                .build(MachineFormat.machineName(source));
    }
}
