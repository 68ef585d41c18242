package dev.banyan.dlc;

import java.util.LongSummaryStatistics;

/**
 * What many measurements come to.
 *
 * @param count how many they are, at least 1
 * @param mean their mean
 * @param min the least
 * @param max the greatest
 */
public record Spread(long count, double mean, long min, long max) {
    static Spread of(LongSummaryStatistics measured) {
        return new Spread(measured.getCount(), measured.getAverage(), measured.getMin(), measured.getMax());
    }
}
