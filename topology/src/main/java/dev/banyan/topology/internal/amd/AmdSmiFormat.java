package dev.banyan.topology.internal.amd;

import dev.banyan.InputException;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.speed.CpuModel;
import dev.banyan.topology.internal.text.BusId;
import dev.banyan.topology.internal.text.ListedGpus;
import dev.banyan.topology.internal.text.MachineFormat;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Output of {@code amd-smi topology}: access, weights, link types and, where the driver reports them, bandwidths in
 * MB/s, of which the greatest of a pair is that of all its links together; see {@link AmdMachine}.
 */
public final class AmdSmiFormat implements MachineFormat {
    private static final String TOOL = "amd-smi topology";
    private static final Pattern TYPES = title("LINK TYPE TABLE");
    private static final Pattern WEIGHTS = title("WEIGHT TABLE");
    private static final Pattern BANDWIDTHS = title("NUMA BW TABLE");
    private static final Pattern ACCESS = title("ACCESS TABLE");
    private static final Pattern METRICS = title("LINK METRIC TABLE");

    private final StatedSpeeds stated;

    public AmdSmiFormat(StatedSpeeds stated) {
        this.stated = stated;
    }

    private static Pattern title(String words) {
        return Pattern.compile("^[\\s#*|]*" + words + ":?[\\s:*|]*$", Pattern.MULTILINE);
    }

    @Override
    public boolean leavesSpeedsOpen() {
        return true;
    }

    @Override
    public boolean recognizes(String text) {
        return TYPES.matcher(text).find() || METRICS.matcher(text).find();
    }

    @Override
    public Machine read(String source, String text) {
        List<String> lines = text.lines().toList();
        AmdTable types = AmdTable.find(source, lines, TYPES, TOOL)
                .orElseThrow(() -> new InputException(
                        source,
                        0,
                        0,
                        "is output of amd-smi xgmi, which counts what xGMI links carried and does not show PCIe; run \""
                                + TOOL + "\""));
        AmdTable weights = AmdTable.find(source, lines, WEIGHTS, TOOL).orElse(null);
        AmdTable access = AmdTable.find(source, lines, ACCESS, TOOL).orElse(null);
        AmdTable bandwidths = AmdTable.find(source, lines, BANDWIDTHS, TOOL).orElse(null);
        int[] numa = new int[types.size()];
        Arrays.fill(numa, -1);
        List<@Nullable String> busIds = new ArrayList<>();
        for (String name : types.names()) {
            String busId = BusId.normalize(name);
            busIds.add(busId.isEmpty() ? null : busId);
        }
        return new AmdMachine(source, types, weights, access, stated)
                .build(busIds, numa, bandwidths, ListedGpus.in(lines), CpuModel.in(lines));
    }
}
