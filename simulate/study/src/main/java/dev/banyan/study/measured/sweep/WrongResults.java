package dev.banyan.study.measured.sweep;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The outcome of nccl-tests' own checks of the results.
 *
 * @param elements greatest number of wrong elements of one figure
 * @param rows number of rows with wrong elements
 * @param checked number of figures that were checked
 * @param unchecked number of figures that nccl-tests did not check, which they print as {@code N/A}
 * @param failed whether the footer reports a failure
 */
public record WrongResults(double elements, int rows, int checked, int unchecked, boolean failed) {
    /** Nothing is known. */
    static final WrongResults UNKNOWN = new WrongResults(0, 0, 0, 0, false);

    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,18}(\\.[0-9]{0,18})?([eE][+-]?[0-9]{1,3})?");

    /**
     * Adds the figures of a row.
     *
     * @param printed the figures of its columns of wrong elements
     * @param isCount whether they are numbers of elements; older versions print an error, with an asterisk if it is bad
     */
    WrongResults with(List<String> printed, boolean isCount) {
        double wrong = 0;
        int known = 0;
        for (String figure : printed) {
            if (isChecked(figure)) {
                known++;
                boolean isNumber = NUMBER.matcher(figure).matches();
                wrong = Math.max(wrong, isNumber ? isCount ? Double.parseDouble(figure) : 0 : 1);
            }
        }
        return new WrongResults(
                Math.max(elements, wrong),
                rows + (wrong > 0 ? 1 : 0),
                checked + known,
                unchecked + printed.size() - known,
                failed);
    }

    static boolean isChecked(String figure) {
        return !figure.isEmpty() && !figure.equalsIgnoreCase("n/a");
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
                            ? String.format(Locale.ROOT, "up to %.0f", elements)
                                    + (elements == 1 ? " wrong element" : " wrong elements") + " of a call, in " + rows
                                    + (rows == 1 ? " row" : " rows")
                            : "values out of bounds (FAILED)")
                    + ", and no speed counts until they are right");
        }
        return unchecked > 0 && checked == 0
                ? Optional.of("The results of this run were not checked (#wrong is N/A); measure with -c 1")
                : Optional.empty();
    }
}
