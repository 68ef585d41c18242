package dev.banyan.kvstore.internal.engine;

import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * The variables that an operation names, each once.
 *
 * @param variables the variables that the operation mutates, then those that it only reads
 * @param mutations the number of variables that the operation mutates
 */
@SuppressWarnings("ArrayRecordComponent") // It is never compared.
record Named(Variable[] variables, int mutations) {
    /** Up to this number of variables a linear search is faster than hashing. */
    private static final int FEW = 16;

    /** Names one variable that the operation mutates. */
    static Named of(Variable mutated) {
        return new Named(new Variable[] {mutated}, 1);
    }

    static Named of(Collection<Variable> reads, Collection<Variable> mutates) {
        int most = reads.size() + mutates.size();
        if (most > FEW) {
            Set<Variable> distinct = new LinkedHashSet<>(mutates);
            int mutations = distinct.size();
            distinct.addAll(reads);
            return new Named(distinct.toArray(Variable[]::new), mutations);
        }
        Variable[] variables = new Variable[most];
        int count = 0;
        for (Variable variable : mutates) {
            count = add(variable, variables, count);
        }
        int mutations = count;
        for (Variable variable : reads) {
            count = add(variable, variables, count);
        }
        return new Named(count == most ? variables : Arrays.copyOf(variables, count), mutations);
    }

    private static int add(Variable variable, Variable[] variables, int count) {
        for (int i = 0; i < count; i++) {
            if (variables[i].equals(variable)) {
                return count;
            }
        }
        variables[count] = variable;
        return count + 1;
    }
}
