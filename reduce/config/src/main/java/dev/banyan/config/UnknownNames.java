package dev.banyan.config;

import dev.banyan.config.internal.SimilarNames;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Explains names that look like settings and are none. */
final class UnknownNames {
    /** Names that modules declare which need not be on the class path, so that nobody is warned of them. */
    static final Set<String> ELSEWHERE = Set.of(
            "BANYAN_BUCKET_BYTES",
            "BANYAN_BUFFER_LIMIT",
            "BANYAN_CHECK_ORDER",
            "BANYAN_FUSION_BYTES",
            "BANYAN_JAVA_HOME",
            "BANYAN_JAVA_OPTS",
            "BANYAN_MPI_DEVICE_MEMORY",
            "BANYAN_MPI_LIBRARY",
            "BANYAN_NCCL_LIBRARY",
            "BANYAN_NVML_LIBRARY",
            "BANYAN_OUTSTANDING",
            "BANYAN_PEER_TRIAL",
            "BANYAN_CUDA_EXECUTOR",
            "BANYAN_CUDA_LAUNCH_THREADS",
            "BANYAN_RANK",
            "BANYAN_RENDEZVOUS",
            "BANYAN_SHARED_MEMORY",
            "BANYAN_THREADS",
            "BANYAN_TIMEOUT_MS",
            "BANYAN_WORLD_SIZE",
            "MXNET_ENABLE_GPU_P2P",
            "MXNET_KVSTORE_BIGARRAY_BOUND");

    /** Settings of MXNet whose names have no prefix of their own. */
    private static final List<String> MXNET = List.of("MXNET_KVSTORE_USETREE", "MXNET_KVSTORE_LOGTREE");

    private static final int MOST_EDITS = 2;

    private UnknownNames() {}

    /** Returns whether a name of a process's environment can only be meant for Banyan. */
    static boolean isOurs(String name) {
        return name.startsWith("BANYAN_")
                || name.startsWith("MXNET_KVSTORE_TREE_")
                || (!MXNET.contains(name) && MXNET.stream().anyMatch(known -> isNear(name, known)));
    }

    /** Returns what is wrong with a name as one sentence, or nothing if some module of Banyan declares it. */
    static Optional<String> warning(String name, String source, Set<String> declared) {
        if (declared.contains(name) || ELSEWHERE.contains(name)) {
            return Optional.empty();
        }
        String remedy = Stream.of(declared, ELSEWHERE, MXNET)
                .flatMap(Collection::stream)
                .filter(known -> isNear(name, known))
                .min(Comparator.<String>comparingInt(known -> SimilarNames.edits(name, known))
                        .thenComparing(Comparator.naturalOrder()))
                .map(known -> "did you mean " + known + "?")
                .orElse("banyan settings lists all settings");
        return Optional.of(Excerpt.of(name) + " (" + source + ") is not a setting and has no effect; " + remedy);
    }

    private static boolean isNear(String name, String known) {
        return Math.abs(name.length() - known.length()) <= MOST_EDITS
                && hasAPartOf(known, name)
                && SimilarNames.edits(name, known) <= MOST_EDITS;
    }

    /** Returns whether a name has one of the parts of which the edits leave at least one as it is. */
    private static boolean hasAPartOf(String known, String name) {
        int parts = MOST_EDITS + 1;
        return IntStream.range(0, parts)
                .mapToObj(part -> known.substring(part * known.length() / parts, (part + 1) * known.length() / parts))
                .anyMatch(name::contains);
    }
}
