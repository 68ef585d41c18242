package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.speed.SpeedChoice;
import dev.banyan.topology.internal.text.GpuProduct;
import dev.banyan.topology.internal.text.MachineFormat;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Output of {@code nvidia-smi topo -m}, of any driver version.
 *
 * <p>Its text names classes and lane counts but no speeds. They follow from what was stated, or from the GPUs' model
 * where the text around the table holds output of {@code nvidia-smi -L}. Else an NVLink is taken as 25 GB/s one way (20
 * where an old driver shows at most four per device, as P100 has; a B200 has 50), PCIe as gen5 where a GPU has 18
 * NVLinks (H100 and later), as gen4 through NVSwitches of A100, else as gen3; a link between sockets as 10. What was
 * assumed is in {@link Machine#assumed()}. See {@link TopoMachine} for how links and hubs follow from the classes.
 * Refused, with the reason: {@code topo -p2p}, {@code topo -mp}, and text that is cut, wrapped by a terminal, or not
 * symmetric.
 */
public final class TopoTextFormat implements MachineFormat {
    /** A line of {@code nvidia-smi -L}. */
    private static final Pattern LISTED =
            Pattern.compile("^[ \\t]*GPU \\d{1,4}: ([^\\n(]{1,80}) \\(UUID: ", Pattern.MULTILINE);

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
        SpeedChoice speeds = new SpeedChoice(stated, product(text));
        return new TopoMachine(new TopoTableParser(source, text).parse(), speeds)
                .build(MachineFormat.machineName(source));
    }

    /** The product of the GPUs that the text lists, if it lists some and all are of one. */
    private static Optional<GpuProduct> product(String text) {
        List<Optional<GpuProduct>> products = LISTED.matcher(text)
                .results()
                .map(listed -> GpuProduct.of(listed.group(1)))
                .distinct()
                .toList();
        return products.size() == 1 ? products.getFirst() : Optional.empty();
    }
}
