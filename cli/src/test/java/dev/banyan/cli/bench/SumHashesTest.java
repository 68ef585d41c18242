package dev.banyan.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.cli.CommandRun;
import dev.banyan.reduce.internal.processes.JobPlace;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** GpuCommandTest compares the hash of GPUs and of several processes. */
public class SumHashesTest {
    /** The hash of every machine. */
    public static final String HASH = "53b432804bd64c597c3042359ae33c6380c75f2db179ca0f5a88c709e6cfac9c";

    private static final AlgorithmConfig RING = AlgorithmConfig.of(AlgorithmChoice.RING);
    private static final AlgorithmConfig AUTO = AlgorithmConfig.of(AlgorithmChoice.AUTO);

    @Test
    void algorithmsHaveTheHashOfEveryMachine() {
        List<String> lines = new ArrayList<>();
        SumHashes hashes = new SumHashes(List.of(RING, AUTO), lines::add);
        hashes.onHost();
        assertThat(hashes.common()).isEqualTo(HASH);
        assertThat(lines).containsExactly("host, ring: " + HASH, "host, auto: " + HASH);
    }

    @Test
    void anotherHashIsAFailure() {
        SumHashes hashes = new SumHashes(List.of(), _ -> {});
        hashes.add("host", RING, 5, "aa");
        hashes.add("2 processes", AUTO, 5, "ab");
        assertThat(hashes.rows().getLast().failed()).isEqualTo(5);
        assertThatThrownBy(hashes::common)
                .hasMessage("reproducible sums of 2 processes, auto have the hash ab, those of host, ring aa");
    }

    @Test
    void contradictionsAndNcclAreRefused() {
        assertThat(CommandRun.of("selftest --reproducible --short").err()).contains("exclude each other");
        assertThat(CommandRun.of("selftest --reproducible -a nccl").err())
                .contains("nccl promises no reproducible sums; name another algorithm");
        assertThat(CommandRun.of("selftest --reproducible --machine dgx-2").err())
                .contains("leave --machine out");
        assertThat(CommandRun.of("selftest --reproducible --backend host --devices 0,1")
                        .err())
                .contains("--devices and -g of --reproducible name GPUs");
        System.setProperty(JobPlace.RANK.name(), "0");
        try {
            for (String ignored :
                    List.of("-a ring", "--format json", "--backend host", "--devices 0,1", "--machine dgx-2")) {
                assertThat(CommandRun.of("selftest --reproducible " + ignored).err())
                        .as(ignored)
                        .contains("With BANYAN_RANK set, selftest --reproducible prints only a hash by auto");
            }
        } finally {
            System.clearProperty(JobPlace.RANK.name());
        }
    }
}
