package dev.banyan.msccl;

import dev.banyan.msccl.Algo.Gpu;
import dev.banyan.msccl.Algo.Instruction;
import dev.banyan.msccl.Algo.Threadblock;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.type.Collective;
import java.io.StringWriter;
import java.util.List;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/**
 * Writes algorithms as the runtimes' parsers want them: no XML declaration, one space before each attribute,
 * no tabs.
 */
final class AlgoXml {
    private final StringWriter text = new StringWriter();
    private final XMLStreamWriter xml;

    private AlgoXml() throws XMLStreamException {
        xml = XMLOutputFactory.newDefaultFactory().createXMLStreamWriter(text);
    }

    static String write(Algo algo, MscclOptions options) {
        try {
            AlgoXml writer = new AlgoXml();
            writer.writeAlgo(algo, options);
            writer.xml.close();
            return writer.text.toString();
        } catch (XMLStreamException e) {
            throw new IllegalStateException("writing XML to memory failed", e);
        }
    }

    /** Name of a collective in a file. */
    static String label(Collective collective) {
        return switch (collective) {
            case ALL_REDUCE -> "allreduce";
            case REDUCE -> "reduce";
            case BROADCAST -> "broadcast";
            case REDUCE_SCATTER -> "reducescatter";
            case ALL_GATHER -> "allgather";
        };
    }

    /** Name of a buffer in a file. */
    static String label(Space space) {
        return switch (space) {
            case INPUT -> "i";
            case OUTPUT -> "o";
            case SCRATCH -> "s";
        };
    }

    private void writeAlgo(Algo algo, MscclOptions options) throws XMLStreamException {
        xml.writeStartElement("algo");
        xml.writeAttribute("name", algo.name());
        xml.writeAttribute("proto", algo.protocol().label());
        attribute("nchannels", algo.channels());
        attribute("nchunksperloop", algo.chunksPerLoop());
        attribute("ngpus", algo.ranks());
        xml.writeAttribute("coll", label(algo.collective()));
        attribute("inplace", algo.inPlace() ? 1 : 0);
        attribute("outofplace", algo.outOfPlace() ? 1 : 0);
        attribute("minBytes", options.minBytes());
        attribute("maxBytes", options.maxBytes());
        for (Gpu gpu : algo.gpus()) {
            writeGpu(gpu);
        }
        newLine(0);
        xml.writeEndElement();
        newLine(0);
    }

    private void writeGpu(Gpu gpu) throws XMLStreamException {
        newLine(1);
        xml.writeStartElement("gpu");
        attribute("id", gpu.id());
        attribute("i_chunks", gpu.inputChunks());
        attribute("o_chunks", gpu.outputChunks());
        attribute("s_chunks", gpu.scratchChunks());
        for (Threadblock block : gpu.threadblocks()) {
            newLine(2);
            xml.writeStartElement("tb");
            attribute("id", block.id());
            attribute("send", block.send());
            attribute("recv", block.receive());
            attribute("chan", block.channel());
            writeSteps(block.instructions());
            newLine(2);
            xml.writeEndElement();
        }
        newLine(1);
        xml.writeEndElement();
    }

    private void writeSteps(List<Instruction> instructions) throws XMLStreamException {
        for (int i = 0; i < instructions.size(); i++) {
            Instruction instruction = instructions.get(i);
            newLine(3);
            xml.writeEmptyElement("step");
            attribute("s", i);
            xml.writeAttribute("type", instruction.opcode().label());
            xml.writeAttribute("srcbuf", label(instruction.sourceSpace()));
            attribute("srcoff", instruction.sourceOffset());
            xml.writeAttribute("dstbuf", label(instruction.targetSpace()));
            attribute("dstoff", instruction.targetOffset());
            attribute("cnt", instruction.count());
            attribute("depid", instruction.block());
            attribute("deps", instruction.step());
            attribute("hasdep", instruction.awaited() ? 1 : 0);
        }
    }

    private void attribute(String name, long value) throws XMLStreamException {
        xml.writeAttribute(name, Long.toString(value));
    }

    private void newLine(int depth) throws XMLStreamException {
        xml.writeCharacters("\n" + "  ".repeat(depth));
    }
}
