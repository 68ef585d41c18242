package dev.banyan.topology.internal.amd;

import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.text.BusId;
import dev.banyan.topology.internal.text.MachineFormat;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Output of {@code amd-smi topology}: weights, link types and, where the driver reports them, bandwidths in MB/s, of
 * which the greatest of a pair is that of all its links together; see {@link AmdMachine}.
 */
public final class AmdSmiFormat implements MachineFormat {
    private static final String TOOL = "amd-smi topology";
    private static final Pattern TYPES = Pattern.compile("^\\s*LINK TYPE TABLE:\\s*$", Pattern.MULTILINE);
    private static final Pattern WEIGHTS = Pattern.compile("^\\s*WEIGHT TABLE:\\s*$");
    private static final Pattern BANDWIDTHS = Pattern.compile("^\\s*NUMA BW TABLE:\\s*$");

    private final StatedSpeeds stated;

    public AmdSmiFormat(StatedSpeeds stated) {
        this.stated = stated;
    }

    @Override
    public boolean leavesSpeedsOpen() {
        return true;
    }

    @Override
    public boolean recognizes(String text) {
        return TYPES.matcher(text).find();
    }

    @Override
    public Machine read(String source, String text) {
        List<String> lines = text.lines().toList();
        AmdTable types = AmdTable.find(source, lines, TYPES, TOOL).orElseThrow();
        AmdTable weights = AmdTable.find(source, lines, WEIGHTS, TOOL).orElse(null);
        AmdTable bandwidths = AmdTable.find(source, lines, BANDWIDTHS, TOOL).orElse(null);
        int[] numa = new int[types.size()];
        Arrays.fill(numa, -1);
        List<@Nullable String> busIds = new ArrayList<>();
        for (String name : types.names()) {
            String busId = BusId.normalize(name);
            busIds.add(busId.isEmpty() ? null : busId);
        }
        return new AmdMachine(source, types, weights, stated).build(busIds, numa, bandwidths);
    }
}
