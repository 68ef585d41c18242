package dev.banyan.msccl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.InputException;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.Samples;
import dev.banyan.schedule.type.Collective;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.w3c.dom.Element;

/** Whatever the reader accepts runs and gives right results; most of what is changed it refuses. */
class MscclMutationTest {
    private static final List<String> EXAMPLES = List.of(
            "allreduce_allpairs_2.xml",
            "allreduce_allpairs_4.xml",
            "allreduce_ring_4.xml",
            "allgather_ring_3.xml",
            "allreduce_recursive_doubling_4.xml");

    private static final List<Collective> COLLECTIVES = List.of(Collective.values());

    @Test
    void acceptedMutantsRun() throws TransformerException {
        mutants(150);
    }

    @Test
    @Tag("soak")
    @Timeout(3600)
    void manyAcceptedMutantsRun() throws TransformerException {
        mutants(20_000);
    }

    private static void mutants(int count) throws TransformerException {
        Random random = new Random(7);
        int accepted = 0;
        int refused = 0;
        for (int i = 0; i < count; i++) {
            String original = original(random);
            Element mutant = MscclMachine.parse(original);
            for (int changes = 1 + random.nextInt(2); changes > 0; changes--) {
                mutate(mutant, random);
            }
            String xml = print(mutant);
            Schedule schedule = readOrNull(xml);
            if (schedule == null) {
                refused++;
                continue;
            }
            accepted++;
            for (int run = 0; run < 5; run++) {
                int slots = mutant.getAttribute("proto").equals("Simple") ? 2 : 8;
                MscclMachine.Mode mode = new MscclMachine.Mode(schedule.inPlace(), schedule.root(), slots, false, 1);
                assertThat(MscclMachine.run(mutant, mode, random)).as(xml).isEmpty();
            }
        }
        assertThat(accepted).as("harmless mutations").isGreaterThan(count / 20);
        assertThat(refused).as("harmful mutations").isGreaterThan(count / 4);
    }

    private static String original(Random random) {
        if (random.nextInt(3) == 0) {
            return MscclReaderTest.resource(EXAMPLES.get(random.nextInt(EXAMPLES.size())));
        }
        int n = 2 + random.nextInt(3);
        List<CollectiveAlgorithm> algorithms = Samples.algorithms(n, random);
        CollectiveAlgorithm algorithm = algorithms.get(random.nextInt(algorithms.size()));
        Collective collective = COLLECTIVES.get(random.nextInt(COLLECTIVES.size()));
        int root = collective.hasRoot() ? random.nextInt(n) : -1;
        MscclOptions options = new MscclOptions("m", MscclProtocol.SIMPLE, 1 + random.nextInt(3), 128, 0, 1 << 30);
        return MscclWriter.write(
                algorithm.schedule(MscclRequests.of(collective, root, 1 + random.nextInt(3), random.nextBoolean())),
                options);
    }

    private static @Nullable Schedule readOrNull(String xml) {
        try {
            return MscclReaderTest.read(xml);
        } catch (InputException e) {
            assertThat(e).hasMessageStartingWith("x.xml");
            return null;
        }
    }

    private static void mutate(Element algo, Random random) {
        List<Element> blocks = new ArrayList<>();
        MscclMachine.children(algo).forEach(gpu -> blocks.addAll(MscclMachine.children(gpu)));
        Element block = blocks.get(random.nextInt(blocks.size()));
        List<Element> steps = MscclMachine.children(block);
        if (steps.isEmpty()) {
            return;
        }
        int at = random.nextInt(steps.size());
        Element step = steps.get(at);
        switch (random.nextInt(8)) {
            case 0 -> {
                step.setAttribute("depid", "-1");
                step.setAttribute("deps", "-1");
            }
            case 1 -> shift(step, random.nextBoolean() ? "srcoff" : "dstoff", random);
            case 2 ->
                step.setAttribute(
                        random.nextBoolean() ? "srcbuf" : "dstbuf",
                        List.of("i", "o", "s").get(random.nextInt(3)));
            case 3 -> {
                if (at + 1 < steps.size()) {
                    block.insertBefore(steps.get(at + 1), step);
                    renumber(block);
                }
            }
            case 4 -> step.setAttribute("hasdep", step.getAttribute("hasdep").equals("1") ? "0" : "1");
            case 5 -> {
                block.removeChild(step);
                renumber(block);
            }
            case 6 -> block.setAttribute("chan", String.valueOf(random.nextInt(4)));
            default -> {
                List<List<String>> alike = List.of(
                        List.of("r", "rrc"), List.of("rcs", "rrs", "rrcs"), List.of("cpy", "re", "nop"), List.of("s"));
                for (List<String> types : alike) {
                    if (types.contains(step.getAttribute("type"))) {
                        step.setAttribute("type", types.get(random.nextInt(types.size())));
                        break;
                    }
                }
            }
        }
    }

    private static void shift(Element step, String attribute, Random random) {
        int offset = Integer.parseInt(step.getAttribute(attribute));
        step.setAttribute(attribute, String.valueOf(Math.max(-1, offset + (random.nextBoolean() ? 1 : -1))));
    }

    private static void renumber(Element block) {
        List<Element> steps = MscclMachine.children(block);
        for (int i = 0; i < steps.size(); i++) {
            steps.get(i).setAttribute("s", String.valueOf(i));
        }
    }

    private static String print(Element element) throws TransformerException {
        Transformer transformer = TransformerFactory.newInstance().newTransformer();
        transformer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
        StringWriter text = new StringWriter();
        transformer.transform(new DOMSource(element), new StreamResult(text));
        return text.toString();
    }
}
