package dev.banyan.study.measured.sweep;

import java.util.List;
import java.util.Optional;

/**
 * The outcome of nccl-tests' own checks of the results.
 *
 * @param elements number of wrong elements in all rows
 * @param rows number of rows with wrong elements
 * @param checked number of figures that were checked
 * @param unchecked number of figures that nccl-tests did not check, which they print as {@code N/A}
 * @param failed whether the footer reports a failure
 */
public record WrongResults(double elements, int rows, int checked, int unchecked, boolean failed) {
    /** Nothing is known. */
    static final WrongResults UNKNOWN = new WrongResults(0, 0, 0, 0, false);

    /** Adds the figures of a row's columns {@code #wrong}; older versions print an error, with an asterisk if it is bad. */
    WrongResults with(List<String> printed, boolean isCount) {
        double wrong = 0;
        int known = 0;
        int unknown = 0;
        for (String figure : printed) {
            if (figure.equalsIgnoreCase("n/a") || figure.isEmpty()) {
                unknown++;
                continue;
            }
            known++;
            boolean isNumber = figure.matches("[0-9]{1,18}(\\.[0-9]{0,18})?([eE][+-]?[0-9]{1,3})?");
            if (isCount && isNumber) {
                wrong += Double.parseDouble(figure);
            } else if (!isNumber) {
                wrong++;
            }
        }
        return new WrongResults(
                elements + wrong, rows + (wrong > 0 ? 1 : 0), checked + known, unchecked + unknown, failed);
    }

    WrongResults withFooter(boolean isFailed) {
        return new WrongResults(elements, rows, checked, unchecked, failed || isFailed);
    }

    public boolean isWrong() {
        return elements > 0 || failed;
    }

    /** Returns a sentence without its full stop about results that are wrong or were not checked; empty otherwise. */
    public Optional<String> sentence() {
        if (isWrong()) {
            return Optional.of("The results of this run are wrong: nccl-tests report "
                    + (elements > 0
                            ? String.format("%.0f", elements) + (elements == 1 ? " wrong element" : " wrong elements")
                                    + " in " + rows + (rows == 1 ? " row" : " rows")
                            : "values out of bounds (FAILED)")
                    + ", and no speed counts until they are right");
        }
        return unchecked > 0 && checked == 0
                ? Optional.of("The results of this run were not checked (#wrong is N/A); measure with -c 1")
                : Optional.empty();
    }
}
