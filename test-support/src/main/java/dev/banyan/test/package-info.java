/** Processes that tests start. */
@org.jspecify.annotations.NullMarked
package dev.banyan.test;
