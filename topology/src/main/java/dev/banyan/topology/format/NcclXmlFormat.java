package dev.banyan.topology.format;

import dev.banyan.topology.Machine;
import java.util.regex.Pattern;

/** NCCL's and RCCL's topology files: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads. */
final class NcclXmlFormat implements MachineFormat {
    /** The beginning of any XML file; of a topology's fragments as well. */
    private static final Pattern BEGINNING = Pattern.compile("\\s*<(?:[?!]|/?[A-Za-z_])");

    @Override
    public boolean recognizes(String text) {
        return BEGINNING.matcher(text).lookingAt();
    }

    @Override
    public Machine read(String source, String text) {
        return new NcclXmlReader(source).read(XmlTree.parse(source, text));
    }
}
