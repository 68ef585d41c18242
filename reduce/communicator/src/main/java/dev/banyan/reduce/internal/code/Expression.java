package dev.banyan.reduce.internal.code;

import dev.banyan.reduce.internal.code.StepCode.Operand;
import dev.banyan.reduce.internal.loop.LoopShape;
import java.util.ArrayList;
import java.util.List;

/**
 * A value that steps compute, as an expression over the operands that they read. Its parentheses are those of the
 * steps. The two sides of an operation are in a fixed order that does not depend on the operands: all operations give
 * the same bits either way, except for the payload of a NaN, and fewer shapes of expressions remain.
 */
sealed interface Expression {
    /**
     * Returns the expression in postfix notation, of the codes of {@link LoopShape}. Its inputs are in the order of
     * {@link #inputs}.
     */
    String code();

    /** Returns the operands that it reads, from left to right. */
    List<Operand> inputs();

    /** Returns the combination of two values. */
    static Expression fold(Expression a, Expression b) {
        boolean swap = a.inputs().size() != b.inputs().size()
                ? a.inputs().size() < b.inputs().size()
                : a.code().compareTo(b.code()) < 0;
        Expression left = swap ? b : a;
        Expression right = swap ? a : b;
        List<Operand> inputs = new ArrayList<>(left.inputs());
        inputs.addAll(right.inputs());
        return new Fold(left, right, left.code() + right.code() + LoopShape.FOLD, inputs);
    }

    /**
     * Returns a value divided by the divisor of the run.
     *
     * @param operation {@link LoopShape#MEAN} or {@link LoopShape#SCALED}
     */
    static Expression mean(Expression value, char operation) {
        return new Mean(value, value.code() + operation);
    }

    /** Returns a value rounded to the type of the elements. */
    static Expression rounded(Expression value) {
        return new Rounded(value, value.code() + LoopShape.ROUNDED);
    }

    /** The contents of an operand. */
    record Input(Operand operand) implements Expression {
        @Override
        public String code() {
            return String.valueOf(LoopShape.INPUT);
        }

        @Override
        public List<Operand> inputs() {
            return List.of(operand);
        }
    }

    /** A value in private memory, in lanes as wide as in the loop. */
    record Wide(Operand operand) implements Expression {
        @Override
        public String code() {
            return String.valueOf(LoopShape.WIDE);
        }

        @Override
        public List<Operand> inputs() {
            return List.of(operand);
        }
    }

    /** A combination of two values. */
    record Fold(Expression left, Expression right, String code, List<Operand> inputs) implements Expression {}

    /** A value that is divided. */
    record Mean(Expression value, String code) implements Expression {
        @Override
        public List<Operand> inputs() {
            return value.inputs();
        }
    }

    /** A value that is rounded. */
    record Rounded(Expression value, String code) implements Expression {
        @Override
        public List<Operand> inputs() {
            return value.inputs();
        }
    }
}
