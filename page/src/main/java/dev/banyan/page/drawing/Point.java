package dev.banyan.page.drawing;

/**
 * A place in a drawing.
 *
 * @param x in pixels from the left
 * @param y in pixels from the top
 */
public record Point(double x, double y) {}
