package dev.banyan.topology.internal.amd;

import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.speed.CpuModel;
import dev.banyan.topology.internal.text.ListedGpus;
import dev.banyan.topology.internal.text.MachineFormat;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Output of {@code rocm-smi --showtopo}, as text or as Markdown: weights, link types and NUMA nodes, but neither speeds
 * nor how many links join a pair; see {@link AmdMachine}.
 */
public final class RocmSmiFormat implements MachineFormat {
    private static final String TOOL = "rocm-smi --showtopo";
    private static final Pattern TYPES = title("Link Type");
    private static final Pattern WEIGHTS = title("Weight");
    private static final Pattern ACCESS = title("Link accessibility");
    private static final Pattern NUMA =
            Pattern.compile("^GPU ?\\[?(\\d{1,4})\\]?\\s*: \\(Topology\\) Numa Node: (-?\\d{1,4})\\s*$");

    private final StatedSpeeds stated;

    public RocmSmiFormat(StatedSpeeds stated) {
        this.stated = stated;
    }

    private static Pattern title(String words) {
        return Pattern.compile(
                "^[^\\p{L}\\n]*" + words + " between two GPUs[^\\p{L}\\n]*$",
                Pattern.MULTILINE | Pattern.CASE_INSENSITIVE);
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
        AmdTable access = AmdTable.find(source, lines, ACCESS, TOOL).orElse(null);
        int[] numa = new int[types.size()];
        Arrays.fill(numa, -1);
        for (String line : lines) {
            Matcher matcher = NUMA.matcher(line);
            if (matcher.matches() && Integer.parseInt(matcher.group(1)) < numa.length) {
                numa[Integer.parseInt(matcher.group(1))] = Math.max(-1, Integer.parseInt(matcher.group(2)));
            }
        }
        List<@Nullable String> busIds = new ArrayList<>();
        for (int i = 0; i < types.size(); i++) {
            busIds.add(null);
        }
        return new AmdMachine(source, types, weights, access, stated)
                .build(busIds, numa, null, ListedGpus.in(lines), CpuModel.in(lines));
    }
}
