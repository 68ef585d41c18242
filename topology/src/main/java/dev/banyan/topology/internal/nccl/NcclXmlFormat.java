package dev.banyan.topology.internal.nccl;

import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.text.MachineFormat;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.regex.Pattern;

/** NCCL's and RCCL's topology files: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads. */
public final class NcclXmlFormat implements MachineFormat {
    /** The beginning of any XML file; of a topology's fragments as well. */
    private static final Pattern BEGINNING = Pattern.compile("\\s*<(?:[?!]|/?[A-Za-z_])");

    private final StatedSpeeds stated;

    public NcclXmlFormat(StatedSpeeds stated) {
        this.stated = stated;
    }

    @Override
    public boolean leavesSpeedsOpen() {
        return true;
    }

    @Override
    public boolean recognizes(String text) {
        return BEGINNING.matcher(text).lookingAt();
    }

    @Override
    public Machine read(String source, String text) {
        return new NcclXmlReader(source, stated).read(XmlTree.parse(source, text));
    }
}
