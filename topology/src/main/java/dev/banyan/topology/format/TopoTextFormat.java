package dev.banyan.topology.format;

import dev.banyan.topology.Machine;

/**
 * Output of {@code nvidia-smi topo -m}, of any driver version.
 *
 * <p>Its text names classes and lane counts but no speeds: an NVLink is taken as 25 GB/s one way (20
 * where an old driver shows at most four per device, as P100 has; a B200 has 50, which the text does not tell), a PCIe
 * slot as 12, a link between sockets as 10. See {@link TopoMachine} for how links and hubs follow from
 * the classes. Refused, with the reason: {@code topo -p2p}, {@code topo -mp}, and text that is cut,
 * wrapped by a terminal, or not symmetric.
 */
final class TopoTextFormat implements MachineFormat {
    @Override
    public boolean recognizes(String text) {
        TopoTableParser parser = new TopoTableParser("", text);
        return parser.hasTable() || (parser.hasTraces() && !new ForeignOutput().recognizes(text));
    }

    @Override
    public Machine read(String source, String text) {
        return new TopoMachine(new TopoTableParser(source, text).parse()).build(MachineReader.machineName(source));
    }
}
