package dev.banyan.page.chart;

import dev.banyan.study.text.Numbers;

/** The scale of an axis: places and labels of values. */
public enum Scale {
    /** Bytes by powers of 2: 4K, 1M. */
    BYTES(true) {
        @Override
        double place(double value) {
            return Math.log(value) / Math.log(2);
        }

        @Override
        double value(double place) {
            return Math.pow(2, place);
        }

        @Override
        String label(double value) {
            return scaled(value, 1024, "", "K", "M", "G", "T");
        }
    },
    /** Elements or bytes by powers of 10: 10K, 1M. */
    COUNT(true) {
        @Override
        String label(double value) {
            return scaled(value, 1000, "", "K", "M", "G", "T");
        }
    },
    /** Times in us by powers of 10: 10 us, 1 ms. */
    MICROSECONDS(true) {
        @Override
        String label(double value) {
            return value < 1 ? number(value) + " us" : scaled(value, 1000, " us", " ms", " s");
        }
    },
    /** Any figures, from 0 on. */
    LINEAR(false) {
        @Override
        double place(double value) {
            return value;
        }

        @Override
        double value(double place) {
            return place;
        }
    };

    private final boolean positive;

    Scale(boolean positive) {
        this.positive = positive;
    }

    /** Returns whether it has no place for 0 and below. */
    boolean onlyPositive() {
        return positive;
    }

    /** Returns the place of a value, at which the axis is even. */
    double place(double value) {
        return Math.log10(value);
    }

    /** Returns the value at a place. */
    double value(double place) {
        return Math.pow(10, place);
    }

    /** Returns the label of a value. */
    String label(double value) {
        return number(value);
    }

    private static String scaled(double value, int step, String... units) {
        int unit = 0;
        double left = value;
        while (left >= step * 0.9995 && unit < units.length - 1) {
            left /= step;
            unit++;
        }
        return number(left) + units[unit];
    }

    private static String number(double value) {
        return Numbers.format("%.4g", value).replaceFirst("(\\.\\d*?)0+$", "$1").replaceFirst("\\.$", "");
    }
}
