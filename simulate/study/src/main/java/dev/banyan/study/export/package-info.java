/** Rings, trees and plans of a machine for other runtimes, and what to expect of them. */
@NullMarked
package dev.banyan.study.export;

import org.jspecify.annotations.NullMarked;
