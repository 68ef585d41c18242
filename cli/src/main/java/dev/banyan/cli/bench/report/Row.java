package dev.banyan.cli.bench.report;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.Measurement;
import dev.banyan.cli.bench.call.PlainLoop;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.study.text.ChoiceText;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One line of the table: one algorithm at one size.
 *
 * @param algorithm what carried the call out
 * @param call the call
 * @param count elements, as the collective counts them
 * @param loopUs median time in us of {@link PlainLoop}, measured between this row and the next; null if it was not
 *     measured
 */
public record Row(
        AlgorithmConfig algorithm,
        Call call,
        long count,
        Measurement outOfPlace,
        Measurement inPlace,
        @Nullable Double loopUs) {
    /** Returns the row with a time of the loop. */
    public Row withLoop(double us) {
        return new Row(algorithm, call, count, outOfPlace, inPlace, us);
    }

    public long bytes() {
        return call.size(count);
    }

    /** Wrong elements in and out of place; 0 if not checked. */
    public long wrong() {
        return number(outOfPlace.wrong()) + number(inPlace.wrong());
    }

    private static long number(@Nullable Long wrong) {
        return wrong == null ? 0 : wrong;
    }

    /** The row as JSON has it: the figures out of place, then those in place. */
    public Map<String, @Nullable Object> json() {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("algorithm", ChoiceText.algorithm(algorithm));
        json.put("collective", call.collective().label());
        json.put("bytes", bytes());
        json.put("count", count);
        json.put("type", call.typeLabel());
        json.put("op", call.opLabel());
        json.putAll(outOfPlace.json());
        json.put("root", call.root());
        json.put("ranks", call.ranks());
        json.put("inPlace", inPlace.json());
        if (algorithm.trees() != null) {
            json.put("trees", algorithm.trees().label());
        }
        if (loopUs != null) {
            json.put("loopUs", loopUs);
        }
        return json;
    }
}
