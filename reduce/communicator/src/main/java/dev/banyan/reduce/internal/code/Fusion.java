package dev.banyan.reduce.internal.code;

import dev.banyan.reduce.internal.code.StepCode.Fused;
import dev.banyan.reduce.internal.code.StepCode.Operand;
import dev.banyan.reduce.internal.loop.FusedLoop;
import dev.banyan.reduce.internal.loop.LoopLanes;
import dev.banyan.reduce.internal.loop.LoopShape;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Fuses the steps of a chunk into loops that read every input once and write every output once: follows the steps
 * symbolically, and makes one pass of the {@link Expression} that each written location holds at the end. The order
 * in which the steps combine values is kept, and so are the bits of the results.
 *
 * <p>An expression of more inputs than a loop takes is cut: a part of it goes through private memory, a block at a
 * time.
 */
public final class Fusion {
    /**
     * A loop over some operands.
     *
     * @param shape the loop's shape
     * @param operands the loop's addresses, in their order
     */
    public record Pass(LoopShape shape, List<Operand> operands) {}

    /** The value of some locations at the end. */
    private record Result(Expression value, List<Operand> outputs) {}

    /** Thrown where steps cannot be fused. */
    private static final class NotFusible extends Exception {
        private static final long serialVersionUID = 1;
    }

    private final DataType type;
    private final ReduceOp op;
    /** True if values are rounded after each step. */
    private final boolean rounds;

    /** The length of a value in private memory, in elements. */
    private final int widening;

    private final List<Pass> passes = new ArrayList<>();
    /** The combinations of two values, by identity: several ranks that combine the same values share one result. */
    private final IdentityHashMap<Expression, IdentityHashMap<Expression, Expression>> folds = new IdentityHashMap<>();

    private final IdentityHashMap<Expression, Expression> means = new IdentityHashMap<>();
    private final IdentityHashMap<Expression, Expression> rounded = new IdentityHashMap<>();
    private int privateBlocks;

    /** The code of means. */
    private final char mean;

    private Fusion(DataType type, ReduceOp op, int divisor) {
        this.type = type;
        this.op = op;
        // The reciprocal of a power of two is exact, and a product takes a fraction of a quotient's time.
        mean = Integer.bitCount(divisor) == 1 ? LoopShape.SCALED : LoopShape.MEAN;
        rounds = type == DataType.BF16 && op != ReduceOp.MIN && op != ReduceOp.MAX;
        widening = LoopLanes.of(type, op).widening();
    }

    /**
     * Returns code that does what steps do.
     *
     * @param op how values are combined; not AVG
     * @param blockBytes greatest length of a block
     * @param divisor what means are divided by
     * @return the steps themselves if they only copy, or can't be fused
     */
    public static ChunkCode fuse(StepCode code, DataType type, ReduceOp op, int blockBytes, int divisor) {
        if (code.steps().stream().allMatch(step -> step.sources().size() == 1)) {
            return code;
        }
        Fusion fusion = new Fusion(type, op, divisor);
        try {
            fusion.add(code.steps());
        } catch (NotFusible e) {
            return code;
        }
        return new FusedCode(fusion.passes, type.bytes(), fusion.widening, blockBytes, divisor, fusion.privateBlocks);
    }

    private void add(List<Fused> steps) throws NotFusible {
        Map<Operand, Expression> values = new LinkedHashMap<>();
        for (Fused step : steps) {
            Expression value = value(step, values);
            for (Operand target : step.targets()) {
                values.put(target, value);
            }
        }
        IdentityHashMap<Expression, Result> results = new IdentityHashMap<>();
        List<Result> order = new ArrayList<>();
        values.forEach((operand, value) -> {
            if (operand.slot() >= 0 && isWritten(value, operand)) {
                Result result = results.computeIfAbsent(value, _ -> {
                    Result first = new Result(value, new ArrayList<>());
                    order.add(first);
                    return first;
                });
                result.outputs().add(operand);
            }
        });
        Set<Operand> written = new HashSet<>();
        for (Result result : order) {
            if (result.value().inputs().stream().anyMatch(written::contains)) {
                // An earlier pass would change what this one reads.
                throw new NotFusible();
            }
            written.addAll(result.outputs());
        }
        for (Result result : order) {
            addPasses(result.value(), result.outputs());
        }
    }

    private boolean isWritten(Expression value, Operand operand) {
        return !(value instanceof Expression.Input(Operand own) && own.equals(operand));
    }

    private Expression value(Fused step, Map<Operand, Expression> values) throws NotFusible {
        Expression value = null;
        for (Operand source : step.sources()) {
            Expression next = values.get(source);
            if (next == null) {
                if (source.slot() < 0) {
                    throw new NotFusible();
                }
                next = new Expression.Input(source);
                values.put(source, next);
            }
            value = value == null ? next : fold(value, next);
        }
        if (value == null) {
            throw new NotFusible();
        }
        if (step.mean()) {
            value = means.computeIfAbsent(value, exact -> Expression.mean(exact, mean));
        }
        return rounds && step.sources().size() > 1 ? rounded.computeIfAbsent(value, Expression::rounded) : value;
    }

    private Expression fold(Expression a, Expression b) {
        return folds.computeIfAbsent(a, _ -> new IdentityHashMap<>()).computeIfAbsent(b, _ -> Expression.fold(a, b));
    }

    private void addPasses(Expression value, List<Operand> outputs) throws NotFusible {
        // A loop rounds what it writes.
        Expression small = cut(value instanceof Expression.Rounded(Expression exact, String _) ? exact : value);
        Set<Operand> inputs = new HashSet<>(small.inputs());
        List<Operand> first = new ArrayList<>();
        List<Operand> others = new ArrayList<>();
        boolean inPlace = inputs.size() == small.inputs().size() && new HashSet<>(outputs).containsAll(inputs);
        for (Operand output : outputs) {
            if (!inPlace || !inputs.contains(output)) {
                others.add(output);
            }
        }
        int room = FusedLoop.MOST_OPERANDS - (inPlace ? inputs.size() : 0);
        first.addAll(others.subList(0, Math.min(room, others.size())));
        addPass(small, inPlace, first);
        for (int o = first.size(); o < others.size(); o += FusedLoop.MOST_OPERANDS) {
            Operand copied = inPlace ? small.inputs().getFirst() : first.getFirst();
            addPass(
                    new Expression.Input(copied),
                    false,
                    others.subList(o, Math.min(o + FusedLoop.MOST_OPERANDS, others.size())));
        }
    }

    private void addPass(Expression value, boolean inPlace, List<Operand> outputs) {
        List<Operand> operands = new ArrayList<>(value.inputs());
        operands.addAll(outputs);
        int inputs = value.inputs().size();
        boolean wideOutput = widening > 1 && outputs.stream().anyMatch(output -> output.slot() < 0);
        boolean copies = value instanceof Expression.Input && !wideOutput;
        LoopShape shape = new LoopShape(
                copies ? DataType.I8 : type,
                copies ? ReduceOp.SUM : op,
                value.code(),
                inputs,
                inPlace,
                outputs.size(),
                wideOutput);
        passes.add(new Pass(shape, operands));
    }

    /** Returns the expression with parts of it in private memory, so that a loop can take it. */
    private Expression cut(Expression value) throws NotFusible {
        return switch (value) {
            case Expression.Input input -> input;
            case Expression.Wide wide -> wide;
            case Expression.Mean quotient -> Expression.mean(cut(quotient.value()), mean);
            case Expression.Rounded rounding -> Expression.rounded(cut(rounding.value()));
            case Expression.Fold fold -> {
                List<Expression> sides = new ArrayList<>(List.of(cut(fold.left()), cut(fold.right())));
                while (sides.get(0).inputs().size() + sides.get(1).inputs().size() > FusedLoop.MOST_OPERANDS) {
                    Expression longest = sides.stream()
                            .filter(side -> side.inputs().size() > 1)
                            .max(Comparator.comparingInt(side -> side.inputs().size()))
                            .orElseThrow(NotFusible::new);
                    Operand block = new Operand(-1, privateBlocks++, -1);
                    addPass(longest, false, List.of(block));
                    sides.set(
                            sides.indexOf(longest),
                            widening > 1 ? new Expression.Wide(block) : new Expression.Input(block));
                }
                yield Expression.fold(sides.get(0), sides.get(1));
            }
        };
    }
}
