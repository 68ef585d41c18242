package dev.banyan.topology.internal.nvidia;

import dev.banyan.InputException;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.text.MachineFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Output of other tools that users take for a machine description. Refused with what to run instead. */
public final class ForeignOutput implements MachineFormat {
    private static final String INSTEAD =
            "; run \"nvidia-smi topo -m\", or set NCCL_TOPO_DUMP_FILE=topo.xml for one run of NCCL, and read that";

    /** Characters at the beginning in which signs are looked for. */
    private static final int HEAD = 1 << 16;

    private record Tool(Pattern sign, String problem) {}

    private static final List<Tool> TOOLS = List.of(
            tool(
                    "P2P \\(Peer-to-Peer\\) GPU Bandwidth|P2P Connectivity Matrix|\\bD\\\\D\\b"
                            + "|(Bandwidth|Latency).{0,60}Matrix \\((GB/s|us)\\)|CAN(NOT)? Access Peer Device",
                    "is output of p2pBandwidthLatencyTest, which measures links and does not name them" + INSTEAD
                            + "; or keep the numbers of one bandwidth matrix and read it as GB/s (--unit gbs)"),
            tool(
                    "^[ \\t]*Link \\d+: Remote Device",
                    "is output of nvidia-smi nvlink -R, which lists the devices at the other ends of NVLinks but not"
                            + " how PCIe joins the GPUs" + INSTEAD),
            tool(
                    "^[ \\t]*Link \\d+: [0-9.]+ GB/s|^[ \\t]*Link \\d+: <inactive>"
                            + "|^[ \\t]*Link \\d+, [^:\\n]{1,60}: (true|false)|all links are inActive"
                            + "|not have or support Nvlink|Nvlink queries are not supported",
                    "is output of nvidia-smi nvlink, which lists the NVLinks of each device but not to which device"
                            + " they lead" + INSTEAD),
            tool(
                    "^ERROR: Option|^Invalid combination of input arguments",
                    "is an error message of nvidia-smi, not its output (nvidia-smi for Windows has no topo -m)"
                            + "; run \"nvidia-smi topo -m\" on Linux, or write a plain n x n matrix"),
            tool(
                    "NVIDIA-SMI has failed|Failed to initialize NVML" + "|No devices were found|command not found",
                    "is an error message of nvidia-smi, not its output; make nvidia-smi work first"),
            tool("\\| NVIDIA-SMI [0-9.]+", "is the summary table of nvidia-smi, which does not show links" + INSTEAD),
            tool(
                    "^GPU \\d+: [^\\n(]{1,80}\\(UUID: ",
                    "is output of nvidia-smi -L, which does not show links" + INSTEAD),
            tool(
                    "ROCm System Management|^[ \\t]*(ACCESS|WEIGHT|HOPS) TABLE:",
                    "is output of rocm-smi or amd-smi without its table of link types; run \"rocm-smi --showtopo\" or"
                            + " \"amd-smi topology\" and keep all of it"),
            tool(
                    "^[ \\t]*NPU0[ \\t]+(NPU1|X)\\b",
                    "is output of npu-smi, which lists Ascend NPUs; Banyan describes machines with GPUs"),
            tool(
                    "\\bNCCL (INFO|WARN|TRACE)\\b",
                    "is a log of NCCL; set NCCL_TOPO_DUMP_FILE=topo.xml for the same run, and read that"));

    private static Tool tool(String sign, String problem) {
        return new Tool(Pattern.compile(sign, Pattern.MULTILINE), problem);
    }

    private static String head(String text) {
        return text.length() > HEAD ? text.substring(0, HEAD) : text;
    }

    @Override
    public boolean recognizes(String text) {
        return TOOLS.stream().anyMatch(tool -> tool.sign().matcher(head(text)).find());
    }

    @Override
    public boolean leavesSpeedsOpen() {
        return false;
    }

    @Override
    public Machine read(String source, String text) {
        for (Tool tool : TOOLS) {
            Matcher matcher = tool.sign().matcher(head(text));
            if (matcher.find()) {
                int line = (int) text.substring(0, matcher.end()).lines().count();
                throw new InputException(source, line, 0, tool.problem());
            }
        }
        throw new IllegalArgumentException("text of " + source + " was not recognized");
    }
}
