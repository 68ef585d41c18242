package dev.banyan.schedule.plan;

import dev.banyan.config.Config;
import dev.banyan.config.Setting;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.internal.algorithm.TreeAlgorithm;
import dev.banyan.schedule.internal.program.DirectExchange;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.trees.packing.PackedTree;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Chooses the algorithm of each call on one machine and makes its schedule. It returns what a {@code Communicator}
 * would run, without running it.
 *
 * <p>The automatic choice, in this order:
 *
 * <ol>
 *   <li>MXNET_KVSTORE_USETREE=0: the star;
 *   <li>MXNET_KVSTORE_TREE_ARRAY_BOUND is set: a single tree up to that many elements, above the faster of multi-tree
 *     and packing by prediction;
 *   <li>what {@code banyan tune} found on this machine and {@link Platform};
 *   <li>the fastest of all algorithms by the {@link CostModel}, if there is one and the machine has no more than
 *     {@value #MOST_MODELLED} devices;
 *   <li>else a single tree up to {@value #DEFAULT_TREE_ARRAY_BOUND} elements, above the fastest by {@link
 *     dev.banyan.trees.packing.ForestCost}.
 * </ol>
 *
 * <p>Algorithms and times of the model are kept. Not safe for use from several threads at once.
 */
public final class Planner {
    /** The default of the array bound, in elements. */
    public static final long DEFAULT_TREE_ARRAY_BOUND = 10_000_000;

    /** The algorithms, by size. */
    public static final Setting<SizeRules> ALGORITHM = SizeRules.setting(
            "BANYAN_ALGORITHM",
            "Names the algorithm of every collective, or several by size: star:4K,single-tree@64K:1M,packing/8 is the"
                    + " star up to 4 KiB (of the larger of a rank's buffers), a single tree in chunks of 64 KiB up to"
                    + " 1 MiB, and at most 8 packed trees above. multi-tree/exact is a multi-tree by that generator of"
                    + " trees (kernighan-lin, exact, exhaustive or shallow). nccl is the NCCL of the machine, on GPUs"
                    + " alone.");
    /** Lets the automatic choice use trees. */
    public static final Setting<Boolean> USE_TREE = Setting.flag(
            "MXNET_KVSTORE_USETREE",
            true,
            "Lets BANYAN_ALGORITHM=auto use trees; 0 makes it use the star, MXNet's way without trees.");
    /** The number of elements above which the automatic choice takes several trees; free if it is not set. */
    public static final Setting<Long> TREE_ARRAY_BOUND = Setting.elements(
                    "MXNET_KVSTORE_TREE_ARRAY_BOUND",
                    0,
                    DEFAULT_TREE_ARRAY_BOUND,
                    "Makes BANYAN_ALGORITHM=auto take many trees for arrays of more elements than this, and one tree"
                            + " for others.")
            .withDefaultText("none for auto, unless it has no model of the machine; then, and for stores of type tree, "
                    + DEFAULT_TREE_ARRAY_BOUND);
    /** The greatest length of a chunk in bytes; {@link Long#MAX_VALUE} leaves the cutting to the backend. */
    public static final Setting<Long> CHUNK_BYTES = Setting.bytesOr(
            "auto",
            Long.MAX_VALUE,
            "BANYAN_CHUNK_BYTES",
            AlgorithmConfig.LEAST_CHUNK,
            Long.MAX_VALUE,
            "Limits the length of a chunk, the unit of pipelining, where BANYAN_ALGORITHM names none by @CHUNK; auto"
                    + " leaves it to the backend or the model.");

    /** With more devices, it takes too long to try trees, rings and schedules. */
    static final int MOST_MODELLED = 16;

    /** The candidates; of equally fast ones the first is taken. */
    private static final List<AlgorithmChoice> ALL = List.of(
            AlgorithmChoice.PACKING,
            AlgorithmChoice.SINGLE_TREE,
            AlgorithmChoice.STAR,
            AlgorithmChoice.ONE_SHOT,
            AlgorithmChoice.MULTI_TREE,
            AlgorithmChoice.RING);

    private static final List<AlgorithmChoice> SEVERAL_TREES =
            List.of(AlgorithmChoice.PACKING, AlgorithmChoice.MULTI_TREE);

    private static final Logger LOG = LoggerFactory.getLogger(Planner.class);
    /** Each is logged once in a process. */
    private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();

    private final Machine machine;
    private final Config config;
    private final Map<Collective, SizeRules> tuned;
    private final Algorithms algorithms;
    private final Prices prices;
    private final @Nullable Supplier<CostModel> model;
    private @Nullable FastestChoice fastest;
    private final Execution execution;

    /**
     * Creates a planner with a given model, or with link costs alone, for a platform.
     *
     * @param machine of at least one device; rank r is device r
     * @param model predicts on that machine and platform; null for none
     */
    public Planner(Machine machine, Config config, @Nullable CostModel model, Platform platform) {
        this(
                machine,
                config,
                platform.execution(),
                tuned(machine, config, platform),
                model == null ? null : () -> model);
    }

    /** @param model makes the model when it is first needed; null for none */
    private Planner(
            Machine machine,
            Config config,
            Execution execution,
            Map<Collective, SizeRules> tuned,
            @Nullable Supplier<CostModel> model) {
        this.execution = execution;
        this.tuned = tuned;
        this.machine = Objects.requireNonNull(machine, "machine");
        this.config = Objects.requireNonNull(config, "config");
        this.model = machine.size() > 1 ? model : null;
        algorithms = new Algorithms(machine, config);
        prices = new Prices(machine, algorithms::get);
    }

    private static Map<Collective, SizeRules> tuned(Machine machine, Config config, Platform platform) {
        Optional<TuningFile> file = TuningFile.of(config);
        Optional<Tuning> found = file.flatMap(sections -> sections.find(platform, machine));
        if (file.isPresent() && found.isEmpty() && config.get(ALGORITHM).leavesOpen()) {
            String warning = config.get(Config.TUNING) + file.get().objection(platform, machine);
            if (WARNED.add(warning)) {
                LOG.warn(warning);
            }
        }
        return found.map(Tuning::rules).orElse(Map.of());
    }

    /** Returns the choice by the model, which is made when it is first needed; null without a model. */
    private @Nullable FastestChoice fastest() {
        if (fastest == null && model != null) {
            fastest = new FastestChoice(model.get(), algorithms, prices, machine.size());
        }
        return fastest;
    }

    /** Returns a planner for algorithms that callers name, which takes neither a model nor the tuning file. */
    public static Planner ofNamed(Machine machine, Config config) {
        return new Planner(machine, config, Execution.CHUNKS, Map.of(), null);
    }

    /**
     * Returns a planner with the model of the first {@link CostModel.Provider} on the class path, for simulated
     * execution by {@linkplain Execution#CHUNKS chunks}.
     */
    public static Planner of(Machine machine, Config config) {
        return of(machine, config, Platform.simulated(Execution.CHUNKS));
    }

    /**
     * Returns a planner with the model of the first {@link CostModel.Provider} on the class path. It has none of
     * {@linkplain Execution#LOOPS loops}: the star has the fewest steps, and all bytes pass once whatever the
     * algorithm is.
     */
    public static Planner of(Machine machine, Config config, Platform platform) {
        Execution execution = platform.execution();
        Optional<CostModel.Provider> found = machine.size() < 2 || execution == Execution.LOOPS
                ? Optional.empty()
                : ServiceLoader.load(CostModel.Provider.class).findFirst();
        return new Planner(
                machine,
                config,
                execution,
                tuned(machine, config, platform),
                found.<Supplier<CostModel>>map(provider -> () -> provider.on(machine, execution))
                        .orElse(null));
    }

    /**
     * Chooses the algorithm of a request. If neither the request nor a setting gives the length of chunks, it stays
     * open for backends that cut by themselves.
     *
     * @return never {@link AlgorithmChoice#AUTO}; {@link AlgorithmChoice#NCCL} if a setting names it, also one of
     *     {@code banyan tune}
     */
    public AlgorithmConfig choose(CollectiveRequest request) {
        return choose(request, true);
    }

    /**
     * Chooses the algorithm of a request that only a schedule can carry out: as {@link #choose}, but without what
     * {@code banyan tune} says of NCCL.
     *
     * @return one of {@link AlgorithmChoice#scheduled}
     * @throws IllegalArgumentException if BANYAN_ALGORITHM names NCCL
     */
    public AlgorithmConfig chooseSchedule(CollectiveRequest request) {
        AlgorithmConfig choice = choose(request, false);
        if (choice.algorithm() == AlgorithmChoice.NCCL) {
            throw new IllegalArgumentException(
                    ALGORITHM.name() + " names nccl, which has no schedule; name another algorithm");
        }
        return choice;
    }

    /** Returns whether BANYAN_ALGORITHM leaves the algorithm of a request to the automatic choice. */
    public boolean isAutomatic(CollectiveRequest request) {
        return set(request).algorithm() == AlgorithmChoice.AUTO;
    }

    /** Returns whether the automatic choice goes by rules of the tuning file for a collective. */
    public boolean isTuned(Collective collective) {
        return config.get(USE_TREE) && config.find(TREE_ARRAY_BOUND).isEmpty() && tuned.containsKey(collective);
    }

    private AlgorithmConfig set(CollectiveRequest request) {
        return config.get(ALGORITHM).of(request.bytes(machine.size()));
    }

    private AlgorithmConfig choose(CollectiveRequest request, boolean mayBeNccl) {
        AlgorithmConfig set = set(request);
        if (set.algorithm() != AlgorithmChoice.AUTO) {
            return set;
        }
        AlgorithmConfig automatic = automatic(request, mayBeNccl);
        return set.cuts() && automatic.algorithm() != AlgorithmChoice.NCCL
                ? automatic.withChunkBytes(set.chunkBytes())
                : automatic;
    }

    private AlgorithmConfig automatic(CollectiveRequest request, boolean mayBeNccl) {
        if (!config.get(USE_TREE)) {
            return AlgorithmConfig.of(AlgorithmChoice.STAR);
        }
        if (machine.size() == 1) {
            return AlgorithmConfig.of(AlgorithmChoice.SINGLE_TREE);
        }
        Optional<Long> bound = config.find(TREE_ARRAY_BOUND);
        if (bound.isPresent()) {
            return request.count() <= bound.get()
                    ? AlgorithmConfig.of(AlgorithmChoice.SINGLE_TREE)
                    : model != null && machine.size() <= MOST_MODELLED
                            ? modelled(SEVERAL_TREES, request)
                            : AlgorithmConfig.of(prices.cheapest(SEVERAL_TREES, request));
        }
        AlgorithmConfig tuned = tuned(request);
        if (tuned.algorithm() != AlgorithmChoice.AUTO && (mayBeNccl || tuned.algorithm() != AlgorithmChoice.NCCL)) {
            return tuned;
        }
        if (execution == Execution.LOOPS) {
            return AlgorithmConfig.of(AlgorithmChoice.STAR);
        }
        return model != null && machine.size() <= MOST_MODELLED
                ? modelled(ALL, request)
                : AlgorithmConfig.of(
                        request.count() > DEFAULT_TREE_ARRAY_BOUND
                                ? prices.cheapest(request)
                                : AlgorithmChoice.SINGLE_TREE);
    }

    private AlgorithmConfig modelled(List<AlgorithmChoice> candidates, CollectiveRequest request) {
        return Objects.requireNonNull(fastest()).of(candidates, request);
    }

    private AlgorithmConfig tuned(CollectiveRequest request) {
        return Objects.requireNonNullElse(tuned.get(request.collective()), SizeRules.AUTO)
                .of(request.bytes(machine.size()));
    }

    /** Returns the same choice with the fastest length of chunks by prediction, if the choice leaves it open. */
    public AlgorithmConfig cut(AlgorithmConfig choice, CollectiveRequest request) {
        FastestChoice model = choice.cuts() ? null : fastest();
        return model == null ? choice : model.cut(choice, request);
    }

    /**
     * Returns the predicted time of a request that runs alone; for long calls with short chunks the time is
     * extrapolated.
     *
     * @param choice the algorithm; an open length of chunks is that of {@link #cut}
     * @return time in us
     * @throws IllegalStateException if there is no cost model, or the machine has one device
     */
    public double predictedUs(AlgorithmConfig choice, CollectiveRequest request) {
        FastestChoice model = fastest();
        if (model == null) {
            throw new IllegalStateException("nothing predicts times on " + machine.name()
                    + "; it takes a cost model, such as the simulator, and two devices");
        }
        return model.us(choice, request);
    }

    /**
     * Makes a schedule.
     *
     * @param choice the algorithm; its length of chunks overrides the request's
     * @throws IllegalArgumentException if the choice is not one of {@link AlgorithmChoice#scheduled}, or the root is
     *     no rank
     */
    public PlannedSchedule plan(AlgorithmConfig choice, CollectiveRequest request) {
        CollectiveRequest cut = ChunkLimit.checked(choice.cut(request), machine.size());
        return new PlannedSchedule(choice, algorithms.get(choice).schedule(cut), algorithms.links(choice, request));
    }

    /**
     * Returns the trees of an algorithm, as {@link TreeAlgorithm#trees} does.
     *
     * @param root the root, or -1 where the collective has none
     * @throws IllegalArgumentException if the choice is {@link AlgorithmChoice#AUTO}, or the root is no rank
     */
    public List<PackedTree> trees(AlgorithmConfig choice, Collective collective, int root) {
        return algorithms.get(choice).trees(collective, root);
    }

    /** Makes the schedule of a request with a hint. */
    public PlannedSchedule plan(CollectiveRequest request, AlgorithmHint hint) {
        if (hint.algorithm() == AlgorithmChoice.STAR && hint.hub() != 0) {
            return new PlannedSchedule(
                    AlgorithmConfig.of(AlgorithmChoice.STAR),
                    new StarAlgorithm(machine.size(), hint.hub()).schedule(ChunkLimit.checked(request, machine.size())),
                    List.of());
        }
        return plan(
                hint.algorithm() == AlgorithmChoice.AUTO
                        ? chooseSchedule(request)
                        : AlgorithmConfig.of(hint.algorithm()),
                request);
    }

    /**
     * Makes the schedule of a request with a hint if each result follows from inputs at once. If no algorithm is named,
     * packing is tried, too.
     *
     * @return empty if neither schedule has this form, or there are too many devices
     */
    public Optional<PlannedSchedule> planDirect(CollectiveRequest request, AlgorithmHint hint) {
        if (machine.size() > MOST_MODELLED) {
            return Optional.empty();
        }
        Optional<PlannedSchedule> planned = direct(plan(request, hint));
        return planned.isPresent() || hint.algorithm() != AlgorithmChoice.AUTO || !isAutomatic(request)
                ? planned
                : direct(plan(AlgorithmConfig.of(AlgorithmChoice.PACKING), request));
    }

    private static Optional<PlannedSchedule> direct(PlannedSchedule planned) {
        return DirectExchange.of(planned.schedule()).map(_ -> planned);
    }
}
