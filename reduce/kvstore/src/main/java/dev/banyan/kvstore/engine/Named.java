package dev.banyan.kvstore.engine;

import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * The variables that an operation names, each once.
 *
 * @param variables those that it mutates, then those that it only reads
 * @param mutations number of those that it mutates
 */
@SuppressWarnings("ArrayRecordComponent") // nobody compares it
record Named(Variable[] variables, int mutations) {
    /** Up to here looking through all is faster than hashing. */
    private static final int FEW = 16;

    /** One that it mutates. */
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
