package dev.banyan.page.model;

import java.util.List;

/**
 * Sets of devices that a page can show.
 *
 * @param largest every set of 2 devices up to so many is there
 * @param sets the sets; the first one has all devices
 */
public record SetsModel(int largest, List<SetModel> sets) {}
