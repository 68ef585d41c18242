package dev.banyan.cli.figures;

import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.TextTable;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** The page that shows the figures, in Markdown. */
record Page(String machine, String profile, InFlight inFlight, ArrayBound arrayBound, Speedups speedups) {
    private static final long SMALL = 4 << 10;
    private static final long LARGE = 64 << 20;

    List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.addAll(introduction());
        lines.addAll(inFlightSection());
        lines.addAll(arrayBoundSection());
        lines.addAll(speedupsSection());
        return lines;
    }

    private List<String> introduction() {
        return """
            # The original design's figures, by simulation

            MXNet's "Single machine All Reduce Topology-aware Communication" compares its balanced trees with \
            NCCL and with the parameter server on p3.16xlarge. This page shows the same comparisons as Banyan's \
            simulator predicts them, in part by assumed constants, on %s with the profile %s; none of them was \
            measured on GPUs. It is written by `banyan figures --out DIR`; the numbers behind the pictures are in \
            the CSV files beside it.

            What is modelled: the copies and sums of each store on the machine's links, as `docs/simulator.md` \
            has it. Beside that, MXNet's engine takes 20 us for each copy or sum from when its inputs are there to \
            when the next one may go on, with two worker threads per device; the caller's thread takes 3 us to \
            queue each and 10 us for a call; each call of NCCL is waited for 20 us longer than it runs. A push-pull \
            is 17 such operations over the parameter server, 30 over a single tree, 37 for each of the 8 slices of \
            a multi-tree. NCCL is called twice per key, for a reduce and a broadcast, one after another, \
            with a launch on each device and a wait for each call. A packed forest is what Banyan runs: one launch of a recorded \
            plan per key, in chunks of 1 MiB, without MXNet's engine. How it compares with the others is as much \
            the plan's merit as the trees'.

            The engine's five constants (20 us, two workers, 3 us, 10 us, 20 us) are assumed; nobody measured them. \
            They were chosen with the order of the curves in mind that the original describes for its first figure, \
            so that this order, below, is no evidence for them. None of them has been adjusted since this command \
            first made the array bound's figure and the training steps, and they are the same for all stores, \
            models, batches and sizes.
            """.formatted(machine, profile).lines().toList();
    }

    private List<String> inFlightSection() {
        List<String> lines = new ArrayList<>(List.of(
                "", "## Push-pulls in flight", "", "![time of 1, 50 and 150 push-pulls by size](in-flight.svg)", ""));
        lines.addAll(order().markdown());
        lines.addAll("""

            The original's text says of its figures: NCCL is clearly the best with one push-pull in flight; with \
            many, it is slower than the parameter server for small messages, and faster for keys of 10M floats; \
            beyond 1M to 10M floats a multi-tree does better than a single tree. Its curves are pictures, so that \
            no more of their order is known here. The table keeps to all of that among the stores that it had. \
            By the simulator's constants, several of which are assumed, a packed forest is before them all, NCCL's \
            ring among them.

            The flat parts are the host's: queueing, launching, waiting. The slopes are the links': the parameter \
            server's copies between GPUs without NVLink share the link between the sockets.

            """.lines().toList());
        lines.add("The multi-tree overtakes the single tree at " + crossovers() + ".");
        return lines;
    }

    private List<String> arrayBoundSection() {
        return """

            ## Array bound

            ![time by array bound](array-bound.svg)

            vgg-16 with 4 images per GPU. All keys pushed and pulled at once, and nothing else, take least, %.1f ms, \
            at a bound of %,d elements. Below, keys of some 2M elements are cut into slices that are not worth \
            their overhead; above, the largest keys take one tree. A whole step hides most of the difference \
            behind the backward pass, as long as the largest key takes all trees.
            """.formatted(
                arrayBound.best().communicationUs() / 1e3, arrayBound.best().bound()).lines().toList();
    }

    private List<String> speedupsSection() {
        List<String> lines = new ArrayList<>("""

            ## Training steps

            The greatest speed-up of whole steps over 4, 8, 16 and 32 images per GPU, trees with the default array \
            bound. "Overlap": keys become ready evenly over the backward pass, which takes two thirds of the \
            computing, the last layer's first; a layer's next forward pass waits for its own key only; communication \
            slows down no computing. "No overlap": all keys are pushed when the backward pass is done, and the next \
            step waits for all. Real training is between the two.

            Over the parameter server:

            """.lines().toList());
        lines.addAll(speedups.overServer().markdown());
        lines.addAll(List.of("", "Over NCCL, simulated with constants of which several are assumed:", ""));
        lines.addAll(speedups.overNccl().markdown());
        lines.addAll(List.of("", "Simulated steps in ms, with overlap / without (several constants are assumed):", ""));
        lines.addAll(speedups.stepTimes().markdown());
        lines.addAll("""

            Where this differs from the original:

            - Over NCCL as it is simulated here, with constants of which several are assumed, full overlap leaves \
            nothing to gain: its calls fit into the backward pass. In MXNet they \
            evidently did not; NCCL's kernels wait for free multiprocessors of all GPUs at once and take them from \
            the backward pass, which this model leaves out. Nor is this the NCCL of then: its constants come from a \
            sweep of NCCL 2.4.
            - Over the parameter server most gains are greater than in the original. Copies between GPUs without \
            NVLink are priced at what NCCL and MXNet state for the link between two sockets, 10 GB/s, with a loss \
            for each further copy at once that is assumed, not measured, and probably too great.
            - The original doesn't say which batches it took, nor the times of its steps.

            Computing times are 8 V100s' as one V100's: MXNet's published images per second by batch for resnet-50, \
            inception-v3 and alexnet (below 16 images extrapolated from 16 and 32), and for vgg-16 a rate at 32 images \
            reported in MXNet's issue 8289, scaled to smaller batches by MXNet's published scoring rates of vgg-16.
            """.lines().toList());
        return lines;
    }

    private TextTable order() {
        TextTable table = new TextTable("in flight", "size of each", "from the fastest to the slowest");
        for (int count : List.of(1, 150)) {
            for (long bytes : List.of(SMALL, LARGE)) {
                table.row(
                        Integer.toString(count),
                        bytes == SMALL ? "4 KiB" : "64 MiB",
                        String.join(" < ", inFlight.order(count, bytes)));
            }
        }
        return table;
    }

    private String crossovers() {
        List<String> all = InFlight.COUNTS.stream()
                .map(count -> elements(inFlight.crossover(count)) + " with " + count + " in flight")
                .toList();
        return String.join(", ", all);
    }

    private static String elements(OptionalLong elements) {
        return elements.isPresent() ? Numbers.format("%.1fM floats", elements.getAsLong() / 1e6) : "nowhere";
    }
}
