package dev.banyan.cli.bench.workload;

import dev.banyan.cli.output.OptionGroup;
import dev.banyan.schedule.type.DataType;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.workload.Workload;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that name gradients, and how they are sent. */
public final class WorkloadOption extends OptionGroup {
    @Option(
            names = "--workload",
            paramLabel = "MODEL|FILE",
            description = "All-reduce the gradients of a model, key by key: resnet-50, vgg-16, inception-v3, alexnet,"
                    + " inception-bn, lenet-5, bert-large, gpt-2-xl, llama-3-8b, vit-l or mixtral-layer; or keys with"
                    + " the number of elements on each line of a file, alone or as the last field with commas before"
                    + " it.")
    private @Nullable Workload workload;

    @Option(
            names = "--bucket",
            paramLabel = "SIZE",
            description = "With --workload: send the gradients in buckets of this size, e.g. 25M, as PyTorch's"
                    + " DistributedDataParallel does: the last layer's first, the first bucket at 1M.")
    private @Nullable ByteSize bucket;

    /**
     * The gradients in the order in which they are sent; null if there are none.
     *
     * @throws picocli.CommandLine.ParameterException if there is a bucket alone
     */
    public @Nullable Workload get() {
        if (bucket == null) {
            return workload;
        }
        if (workload == null) {
            throw wrong("--bucket is for gradients; add --workload");
        }
        require(bucket.bytes() >= 1, "--bucket is 0; it must be at least 1 byte");
        return workload.inBuckets(
                Math.min(Workload.FIRST_BUCKET, bucket.bytes()), bucket.bytes(), DataType.F32.bytes());
    }

    /** The same from the input layer to the output layer, which is the order in which a forward pass needs them. */
    public @Nullable Workload fromInput() {
        Workload sent = get();
        return sent == null || bucket == null ? sent : sent.reversed();
    }
}
