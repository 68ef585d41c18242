package dev.banyan.msccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleProof;
import dev.banyan.schedule.ScheduleTraffic;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.Summation;
import dev.banyan.schedule.type.Collective;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files as msccl-tools write them are read right; wrong ones are refused with place and remedy. */
class MscclReaderTest {
    private static final String RING = "allreduce_ring_4.xml";
    private static final String PAIRS = "allreduce_allpairs_4.xml";
    private static final String SMALL = "allreduce_allpairs_2.xml";

    static String resource(String name) {
        try (InputStream in = MscclReaderTest.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new AssertionError("no resource " + name);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Schedule read(String xml) {
        try {
            return MscclReader.read("x.xml", new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {SMALL, PAIRS, RING, "allgather_ring_3.xml", "allreduce_recursive_doubling_4.xml"})
    void examplesDoTheSameAsOnTheMachine(String name) {
        String xml = resource(name);
        Schedule schedule = read(xml);
        ScheduleVerifier.verify(schedule);
        Random random = new Random(1);
        for (int run = 0; run < 20; run++) {
            MscclMachine.Mode mode = new MscclMachine.Mode(schedule.inPlace(), -1, 2, false, 3);
            assertThat(MscclMachine.run(MscclMachine.parse(xml), mode, random)).isEmpty();
        }
    }

    @Test
    void fusedRing() {
        Schedule ring = read(resource(RING));
        assertThat(ring.algorithm()).isEqualTo("allreduce_ring");
        assertThat(ring.collective()).isEqualTo(Collective.ALL_REDUCE);
        assertThat(ring.inPlace()).isTrue();
        assertThat(ring.count()).isEqualTo(4);
        assertThat(ring.chunks()).hasSize(4);
        ScheduleTraffic traffic = ScheduleTraffic.of(ring);
        assertThat(traffic.hops()).isEqualTo(6);
        assertThat(traffic.steps()).isEqualTo(24);
        assertThat(traffic.transfers()).isEqualTo(24);
        for (int rank = 0; rank < 4; rank++) {
            assertThat(traffic.shareBetween(rank, (rank + 1) % 4)).hasToString("3 / 2");
        }
        assertThat(ScheduleVerifier.verify(ring).summations())
                .extracting(Summation::expression)
                .contains("3 + (2 + (1 + 0))");
    }

    @Test
    void allPairsSumUpAtTheOwner() {
        Schedule pairs = read(resource(PAIRS));
        ScheduleProof proof = ScheduleVerifier.verify(pairs);
        assertThat(proof.bytesBetween(0, 3)).isEqualTo(2);
        assertThat(ScheduleTraffic.of(pairs).hops()).isEqualTo(2);
        assertThat(proof.summations().getFirst().expression()).isEqualTo("((0 + 1) + 2) + 3");
    }

    @Test
    void successiveChunksThatDoTheSameBecomeOne() {
        Schedule gather = read(resource("allgather_ring_3.xml"));
        assertThat(gather.count()).isEqualTo(2);
        assertThat(gather.inPlace()).isFalse();
        // The copy into one's own output reads what the ring reads, and neither writes that.
        assertThat(gather.chunks()).hasSize(6).allMatch(chunk -> chunk.bytes() == 2);
    }

    @Test
    void connectionsHoldWhatIsOverwrittenInTheMeantime() {
        Schedule doubling = read(resource("allreduce_recursive_doubling_4.xml"));
        assertThat(doubling.scratchBytes()).isPositive();
        assertThat(ScheduleTraffic.of(doubling).hops()).isGreaterThanOrEqualTo(2);
        assertThat(ScheduleTraffic.of(doubling).bytesBetween(0, 1)).isEqualTo(1);
        assertThat(ScheduleTraffic.of(doubling).bytesBetween(0, 2)).isEqualTo(1);
        assertThat(ScheduleVerifier.verify(doubling).summations())
                .containsExactly(new Summation(0, 1, "(0 + 1) + (2 + 3)"));
    }

    @Test
    void resizedScheduleIsRightToo() {
        Schedule large = read(resource(PAIRS)).resized(4000, 8);
        ScheduleProof proof = ScheduleVerifier.verify(large);
        assertThat(large.elementBytes()).isEqualTo(8);
        assertThat(proof.bytesBetween(0, 1)).isEqualTo(2 * 1000 * 8);
        assertThatThrownBy(() -> large.resized(4001, 4)).hasMessageContaining("take a multiple");
    }

    private static void refuses(String xml, String... parts) {
        assertThatThrownBy(() -> read(xml))
                .isInstanceOf(InputException.class)
                .hasMessageStartingWith("x.xml")
                .hasMessageContainingAll(parts);
    }

    private static String changed(String resource, String from, String to) {
        String xml = resource(resource);
        int at = xml.indexOf(from);
        assertThat(at).as(from).isNotNegative();
        return xml.substring(0, at) + to + xml.substring(at + from.length());
    }

    @Test
    void refusesWhatIsNotSuchAFile() {
        refuses("", "not well-formed");
        refuses("<algo", "not well-formed");
        refuses("<system/>", "x.xml:1:1", "<algo>");
        refuses("<!DOCTYPE algo [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><algo name=\"&e;\"/>", "DTD");
        refuses(changed(SMALL, "coll=\"allreduce\"", "coll=\"alltoall\""), "x.xml:1:1", "alltoall", "only allreduce");
        refuses(changed(SMALL, " nchunksperloop=\"2\"", ""), "nchunksperloop", "add it");
        refuses(changed(SMALL, "nchunksperloop=\"2\"", "nchunksperloop=\"two\""), "1 to 32767");
        refuses(changed(SMALL, "ngpus=\"2\"", "ngpus=\"3\""), "no <gpu id=\"2\">");
        refuses(changed(SMALL, "<gpu id=\"1\"", "<gpu id=\"0\""), "GPU 0 twice");
        refuses(changed(SMALL, "type=\"re\"", "type=\"rx\""), "x.xml:6:7", "\"rx\"", "rrcs");
        refuses(changed(SMALL, " s=\"2\"", " s=\"3\""), "x.xml:6:7", "calls this step 3");
        refuses(changed(SMALL, "srcbuf=\"s\"", "srcbuf=\"q\""), "srcbuf=\"q\"", "i, o and s");
        refuses(changed(SMALL, "<tb id=\"0\"", "<tb id=\"1\""), "0, 1, 2");
        refuses(changed(SMALL, "<gpu", "<gpx/><gpu"), "<gpx>", "only <gpu>");
        refuses(changed(SMALL, "inplace=\"1\"", "inplace=\"0\""), "neither in place nor");
        refuses(changed(SMALL, "proto=\"LL\"", "proto=\"LL64\""), "LL64");
        refuses(
                resource(SMALL)
                        .replace("allreduce\" inplace", "allgather\" inplace")
                        .replace("loop=\"2\"", "loop=\"3\""),
                "2 ranks do not divide");
    }

    @Test
    void refusesReferencesToWhatThereIsNot() {
        refuses(changed(SMALL, "srcoff=\"1\"", "srcoff=\"2\""), "x.xml:4:7", "GPU 0", "up to chunk 3");
        refuses(changed(SMALL, "s_chunks=\"1\"", "s_chunks=\"0\""), "buffer s");
        refuses(changed(SMALL, "send=\"1\"", "send=\"0\""), "send=\"0\"");
        refuses(changed(PAIRS, "depid=\"1\" deps=\"1\"", "depid=\"7\" deps=\"1\""), "threadblock 7", "correct depid");
        refuses(changed(PAIRS, "depid=\"1\" deps=\"1\"", "depid=\"1\" deps=\"0\""), "hasdep=\"0\"", "set it to 1");
    }

    @Test
    void refusesSendsAndReceivesThatDoNotMatch() {
        refuses(changed(SMALL, "chan=\"0\"", "chan=\"1\""), "receives", "make them as many");
        refuses(
                changed(
                        "allgather_ring_3.xml",
                        "type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"2\"",
                        "type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\""),
                "make cnt equal");
        refuses(
                changed(PAIRS, "<tb id=\"1\" send=\"2\" recv=\"2\"", "<tb id=\"1\" send=\"1\" recv=\"2\""),
                "both send from GPU 0");
    }

    @Test
    void refusesWhatHangs() {
        // Everybody receives before sending.
        String xml = resource(SMALL)
                .replace("s=\"0\" type=\"s\"", "s=\"0\" type=\"x\"")
                .replace("s=\"1\" type=\"r\"", "s=\"1\" type=\"s\"")
                .replace("s=\"0\" type=\"x\"", "s=\"0\" type=\"r\"");
        refuses(xml, "would hang", "which waits for");
    }

    @Test
    void refusesMoreInFlightThanTheProtocolHolds() {
        StringBuilder gpus = new StringBuilder();
        for (int g = 0; g < 2; g++) {
            gpus.append("<gpu id='" + g + "' i_chunks='6' o_chunks='6' s_chunks='6'><tb id='0' send='" + (1 - g)
                    + "' recv='" + (1 - g) + "' chan='0'>");
            for (int s = 0; s < 6; s++) {
                String type = s < 3
                        ? "s' srcbuf='i' srcoff='" + (3 - 3 * g + s) + "' dstbuf='s' dstoff='0'"
                        : "rrc' srcbuf='i' srcoff='" + (3 * g + s - 3) + "' dstbuf='o' dstoff='" + (3 * g + s - 3)
                                + "'";
                gpus.append("<step s='" + s + "' type='" + type + " cnt='1' depid='-1' deps='-1' hasdep='0'/>");
            }
            for (int s = 6; s < 12; s++) {
                String type = s < 9
                        ? "s' srcbuf='o' srcoff='" + (3 * g + s - 6) + "' dstbuf='o' dstoff='0'"
                        : "r' srcbuf='o' srcoff='0' dstbuf='o' dstoff='" + (3 - 3 * g + s - 9) + "'";
                gpus.append("<step s='" + s + "' type='" + type + " cnt='1' depid='-1' deps='-1' hasdep='0'/>");
            }
            gpus.append("</tb></gpu>");
        }
        String file = "<algo proto='LL' nchunksperloop='6' ngpus='2' coll='allreduce' inplace='0'>" + gpus + "</algo>";
        assertThat(read(file).algorithm()).isEqualTo("msccl");
        refuses(file.replace("'LL'", "'Simple'"), "would hang");
        Random random = new Random(3);
        MscclMachine.Mode two = new MscclMachine.Mode(false, -1, 2, false, 1);
        MscclMachine.Mode eight = new MscclMachine.Mode(false, -1, 8, false, 1);
        String complete = file.replace("proto='LL'", "name='n' proto='LL' nchannels='1'");
        assertThat(MscclMachine.run(MscclMachine.parse(complete), two, random)).startsWith("hangs");
        assertThat(MscclMachine.run(MscclMachine.parse(complete), eight, random))
                .isEmpty();
    }

    @Test
    void refusesRaces() {
        // The owner no longer waits for one of those that it sums up.
        refuses(changed(PAIRS, "depid=\"1\" deps=\"1\"", "depid=\"-1\" deps=\"-1\""), "both touch", "add a dependency");
        refuses(changed(PAIRS, "depid=\"0\" deps=\"5\"", "depid=\"-1\" deps=\"-1\""), "both touch", "add a dependency");
    }

    @Test
    void refusesWrongResults() {
        refuses(changed(RING, "type=\"rrs\"", "type=\"rcs\""), "not a right all_reduce in place");
        refuses(changed(SMALL, "coll=\"allreduce\"", "coll=\"broadcast\""), "not a right broadcast with any root");
    }
}
