package dev.banyan.reduce.internal.processes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JobPlaceTest {
    private static final Config NONE = Config.defaults();

    @Test
    void launchersNameTheirProcesses() {
        JobPlace openMpi = JobPlace.find(
                NONE,
                Map.of(
                        "OMPI_COMM_WORLD_LOCAL_RANK", "2",
                        "OMPI_COMM_WORLD_LOCAL_SIZE", "4",
                        "PMIX_NAMESPACE", "1234"));
        assertThat(openMpi.process()).isEqualTo(2);
        assertThat(openMpi.processes()).isEqualTo(4);
        JobPlace torchrun = JobPlace.find(
                NONE, Map.of("LOCAL_RANK", "0", "LOCAL_WORLD_SIZE", "8", "MASTER_PORT", "29500", "RANK", "8"));
        assertThat(torchrun.process()).isZero();
        assertThat(torchrun.processes()).isEqualTo(8);
    }

    @Test
    void jobsMeetInFoldersOfTheirOwn() {
        Map<String, String> first =
                Map.of("LOCAL_RANK", "0", "LOCAL_WORLD_SIZE", "2", "TORCHELASTIC_RUN_ID", "a", "MASTER_PORT", "1");
        Map<String, String> second =
                Map.of("LOCAL_RANK", "1", "LOCAL_WORLD_SIZE", "2", "TORCHELASTIC_RUN_ID", "a", "MASTER_PORT", "1");
        Map<String, String> other =
                Map.of("LOCAL_RANK", "1", "LOCAL_WORLD_SIZE", "2", "TORCHELASTIC_RUN_ID", "a", "MASTER_PORT", "2");
        String meeting = JobPlace.find(NONE, first).meeting();
        assertThat(JobPlace.find(NONE, second).meeting()).isEqualTo(meeting);
        assertThat(JobPlace.find(NONE, other).meeting()).isNotEqualTo(meeting);
    }

    @Test
    void settingsGoBeforeLaunchers() {
        Config config = Config.builder()
                .set("BANYAN_RANK", "1")
                .set("BANYAN_WORLD_SIZE", "3")
                .set("BANYAN_RENDEZVOUS", "/here")
                .build();
        assertThat(JobPlace.find(config, Map.of("LOCAL_RANK", "0", "LOCAL_WORLD_SIZE", "2")))
                .isEqualTo(new JobPlace(1, 3, "/here"));
    }

    @Test
    void anAddressIsNoPlaceToMeet() {
        Config config = Config.builder()
                .set("BANYAN_RANK", "1")
                .set("BANYAN_WORLD_SIZE", "3")
                .set("BANYAN_RENDEZVOUS", "tcp://127.0.0.1:29400")
                .build();
        assertThatThrownBy(() -> JobPlace.find(config, Map.of()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("BANYAN_RENDEZVOUS is tcp://127.0.0.1:29400, which is an address; give a folder of your own"
                        + " instead");
    }

    @Test
    void placesWithoutSenseAreRefused() {
        assertThatThrownBy(() -> JobPlace.find(NONE, Map.of("LOCAL_RANK", "x", "LOCAL_WORLD_SIZE", "2")))
                .hasMessage("LOCAL_RANK is 'x', which is no number");
        assertThatThrownBy(() -> JobPlace.find(NONE, Map.of("LOCAL_RANK", "2", "LOCAL_WORLD_SIZE", "2")))
                .hasMessageContaining("process 2 of a job of 2");
        assertThatThrownBy(() -> JobPlace.find(NONE, Map.of("LOCAL_RANK", "0", "LOCAL_WORLD_SIZE", "2")))
                .hasMessageContaining("set BANYAN_RENDEZVOUS");
    }
}
