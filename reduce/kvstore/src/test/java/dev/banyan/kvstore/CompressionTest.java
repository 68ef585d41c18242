package dev.banyan.kvstore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.host.HostBackend;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Presets;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class CompressionTest {
    private static final int COUNT = 1003;

    private final Communicator communicator = Communicator.create(
            Presets.find("p3.16xlarge").orElseThrow().subset(0, 1, 2),
            Config.builder().set(HostBackend.THREADS, 2).build());
    private final KVStore store = KVStore.create("auto", communicator);
    private final List<MemorySegment> gradients = Floats.random(communicator, COUNT, new Random(8));
    private final List<MemorySegment> results = Floats.zeros(communicator, COUNT);

    @AfterEach
    void close() {
        store.close();
        communicator.close();
    }

    private void init(Compression compression) {
        store.setCompression(compression);
        store.init("w", MemorySegment.ofArray(new float[COUNT]), COUNT, DataType.F32);
    }

    /** What two bits must give, by the definition, element by element. */
    private static final class TwoBitModel {
        final float threshold;
        final float[][] owed = new float[3][COUNT];

        TwoBitModel(float threshold) {
            this.threshold = threshold;
        }

        float[] push(List<MemorySegment> arrays) {
            float[] sum = new float[COUNT];
            for (int rank = 0; rank < 3; rank++) {
                float[] values = Floats.values(arrays.get(rank));
                for (int i = 0; i < COUNT; i++) {
                    float wanted = owed[rank][i] + values[i];
                    float sent = wanted >= threshold ? threshold : wanted <= -threshold ? -threshold : 0;
                    owed[rank][i] = wanted - sent;
                    sum[i] += sent;
                }
            }
            return sum;
        }
    }

    @Test
    void twoBitsSendTheThresholdAndKeepTheRest() {
        init(new Compression.TwoBit(0.5f));
        TwoBitModel model = new TwoBitModel(0.5f);
        for (int round = 0; round < 4; round++) {
            float[] expected = model.push(gradients);
            if (round % 2 == 0) {
                store.pushPull("w", gradients, results, 0).join();
            } else {
                var _ = store.push("w", gradients, 0);
                store.pull("w", results, 0).join();
            }
            assertThat(results)
                    .allSatisfy(each -> assertThat(Floats.values(each)).isEqualTo(expected));
        }
    }

    @Test
    void whatTwoBitsKeepBackArrivesLater() {
        init(new Compression.TwoBit(0.25f));
        int rounds = 50;
        float[] small = new float[COUNT];
        for (int i = 0; i < COUNT; i++) {
            small[i] = 0.2f * i / COUNT;
        }
        gradients.forEach(each -> each.copyFrom(MemorySegment.ofArray(small)));
        float[] total = new float[COUNT];
        for (int round = 0; round < rounds; round++) {
            store.pushPull("w", gradients, results, 0).join();
            float[] sum = Floats.values(results.getFirst());
            for (int i = 0; i < COUNT; i++) {
                total[i] += sum[i];
            }
        }
        for (int i = 0; i < COUNT; i++) {
            assertThat(total[i]).isCloseTo(3 * rounds * small[i], within(3 * 0.25f + 1e-3f));
        }
    }

    @Test
    void halvesComeCloseToTheSum() {
        init(new Compression.Half());
        float[] expected = Floats.sumByRank(gradients);
        store.pushPull("w", gradients, results, 0).join();
        assertThat(results)
                .allSatisfy(each -> assertThat(Floats.values(each)).containsExactly(expected, within(0.02f)));
        assertThat(Floats.values(results.getFirst())).isNotEqualTo(expected);
        float[] together = Floats.values(results.getFirst());
        var _ = store.push("w", gradients, 0);
        store.pull("w", results, 0).join();
        assertThat(Floats.values(results.getLast())).containsExactly(together, within(0.02f));
    }

    @Test
    void updatersGetWhatWasSent() {
        store.setUpdater(new Sgd(1));
        init(new Compression.TwoBit(10));
        store.pushPull("w", gradients, results, 0).join();
        assertThat(results).allSatisfy(each -> assertThat(Floats.values(each)).containsOnly(0f));
    }

    @Test
    void refusesOtherTypesAndThresholds() {
        store.setCompression(new Compression.Half());
        store.init("i", MemorySegment.ofArray(new int[COUNT]), COUNT, DataType.I32);
        assertThatThrownBy(() -> store.push("i", gradients, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("push of key i: its elements are of I32, but compression is for F32 only;"
                        + " use another store for it");
        assertThatThrownBy(() -> new Compression.TwoBit(0)).hasMessageContaining("must be above 0");
        store.pull("i", results, 0).join();
        assertThatThrownBy(() -> store.setCompression(new Compression.Half()))
                .isInstanceOf(IllegalStateException.class);
    }
}
