/** A machine, its trees and its predicted times as one interactive HTML file. */
@NullMarked
package dev.banyan.page;

import org.jspecify.annotations.NullMarked;
